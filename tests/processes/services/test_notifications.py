"""Messages reach a command, real HTTP servers and a real SMTP server."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import Message as Mail
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller

from footplate.services import notifications
from footplate.services.notifications import Notifications, message_about
from footplate.testing.waiting import wait_until

from ...unit.services.test_notifications import FAILED, configure, notify

__all__ = ["notify"]  # fixtures


class HttpReceiver(ThreadingHTTPServer):
    """Keeps the JSON documents that are posted to it; refuses the first `refusals` of them."""

    def __init__(self, refusals: int = 0) -> None:
        self.received: list[Any] = []
        self.refusals = refusals
        super().__init__(("127.0.0.1", 0), _Receive)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook"


class _Receive(BaseHTTPRequestHandler):
    server: HttpReceiver  # type: ignore[assignment]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.refusals -= 1
        accepted = self.server.refusals < 0
        if accepted:
            self.server.received.append(json.loads(body))
        self.send_response(200 if accepted else 500)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


class MailReceiver:
    def __init__(self) -> None:
        self.received: list[Mail] = []

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self.received.append(message_from_bytes(envelope.content, policy=policy.default))
        return "250 OK"


@pytest.fixture
def web() -> Iterator[HttpReceiver]:
    server = HttpReceiver()
    yield server
    server.shutdown()
    server.server_close()


def test_every_channel_gets_the_message(notify: Notifications, web: HttpReceiver, tmp_path: Path) -> None:
    mails = MailReceiver()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    smtp = Controller(mails, hostname="127.0.0.1", port=port)
    smtp.start()
    configure(
        tmp_path, webhook=web.url, slack=web.url, email="a@example.org, b@example.org", sender="us@example.org",
        smtp=f"smtp://127.0.0.1:{port}", command=f'echo "$1" > {tmp_path}/said && cat > {tmp_path}/facts',
    )  # fmt: skip
    try:
        assert notify.send_test() == dict.fromkeys(notifications.CHANNELS)
        notify.announce(FAILED)
        wait_until(lambda: len(mails.received) == 2 and len(web.received) == 4)
    finally:
        smtp.stop()
    text = message_about(FAILED).text
    assert {"text": text} in web.received and {"text": text, **message_about(FAILED).facts} in web.received
    assert (tmp_path / "said").read_text() == f"{text}\n"
    assert json.loads((tmp_path / "facts").read_text())["run"] == "digits_1"
    assert mails.received[1]["To"] == "a@example.org, b@example.org" and mails.received[1]["Subject"].strip() == text
    assert "error: train.py ended with exit code 3" in str(mails.received[1].get_payload())


def test_delivery_is_tried_again(web: HttpReceiver, tmp_path: Path) -> None:
    notify = Notifications(tmp_path, pause_seconds=0.0)
    web.refusals = 2
    configure(tmp_path, webhook=web.url)
    notify.announce(FAILED)
    wait_until(lambda: bool(web.received))
    notify.stop()
    assert web.received[0]["run"] == "digits_1"


def test_a_failing_channel_is_named(notify: Notifications, tmp_path: Path) -> None:
    configure(tmp_path, command="echo no display >&2; exit 4")
    assert notify.send_test() == {"command": "exit code 4: no display"}
