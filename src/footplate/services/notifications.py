"""Messages to people when a run ends: through a command, a webhook, Slack or e-mail.

[notifications]
send = requested            or failed: also for runs that fail; or all: for every run without a parent
command = notify-send "$1"  a shell command; $1 is the sentence, stdin the facts as JSON
webhook = https://…         receives the facts as a JSON document
slack = https://…           an incoming webhook of Slack or Mattermost
email = a@example.org, b@example.org
smtp = smtp://user:password@mail.example.org:587        or smtps://…; without one: localhost
sender = footplate@example.org

Delivery is attempted three times. A message that nobody took is a line in the server's log, never a failed run.
"""

from __future__ import annotations

import contextlib
import json
import logging
import smtplib
import socket
import subprocess
import threading
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from footplate.domain.records import RunRecord
from footplate.domain.runs.run_status import status
from footplate.domain.text import duration
from footplate.errors import FootplateError, InvalidInput, Unavailable
from footplate.services.settings import NAME, NOTIFICATIONS, read_section

log = logging.getLogger(__name__)

TRIES = 3
PAUSE_SECONDS = 5.0
SEND = ("requested", "failed", "all")
CHANNELS = ("command", "webhook", "slack", "email")
NAMES = ("send", *CHANNELS, "smtp", "sender")
_SECONDS = 20


@dataclass(frozen=True)
class Message:
    """The end of a run: one sentence, and the facts."""

    text: str
    facts: Mapping[str, Any]


class Notifications:
    """Sends a message through every channel of the settings, which are read each time."""

    def __init__(self, home: Path, pause_seconds: float = PAUSE_SECONDS) -> None:
        self._home = home
        self._pause_seconds = pause_seconds
        # Its own threads: a webhook that does not answer must not hold up the launch of runs.
        self._pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="notifications")
        self._stopping = threading.Event()

    def stop(self) -> None:
        """Finish the tries that have begun, and give up the others."""
        self._stopping.set()
        self._pool.shutdown(cancel_futures=True)

    def check_configured(self) -> None:
        """Raise InvalidInput if a run requests a message and no channel is configured."""
        if not _channels(self._settings()):
            raise InvalidInput(
                "the run requests a notification, but no channel is configured",
                f'add one to {self._home / NAME}:\n[notifications]\ncommand = notify-send "$1"',
            )

    def announce(self, record: RunRecord) -> None:
        """Send a message about a run that has ended, if it or the settings request one. Returns at once."""
        try:
            settings = self._settings()
        except FootplateError as error:
            log.warning("cannot send notifications about run %s: %s", record.id, error)
            return
        if is_wanted(record, settings.get("send", SEND[0])):
            with contextlib.suppress(RuntimeError):  # the server stops
                self._pool.submit(self._send_all, settings, message_about(record))

    def send_test(self) -> dict[str, str | None]:
        """Send a test message once through each channel; return the error of each, None for success."""
        self.check_configured()
        settings = self._settings()
        text = f"Footplate on {socket.gethostname()} can reach you"
        return {name: _try(name, settings, Message(text, {"test": True})) for name in _channels(settings)}

    def _settings(self) -> dict[str, str]:
        settings = read_section(self._home, NOTIFICATIONS)
        check_notifications(self._home / NAME, settings)
        return settings

    def _send_all(self, settings: Mapping[str, str], message: Message) -> None:
        channels = _channels(settings)
        for attempt in range(TRIES):
            if attempt and self._stopping.wait(self._pause_seconds * attempt):
                return
            errors = {name: _try(name, settings, message) for name in channels}
            channels = [name for name, error in errors.items() if error is not None]
            for name in channels:
                log.warning("notification by %s failed (try %d of %d): %s", name, attempt + 1, TRIES, errors[name])
            if not channels:
                return


def check_notifications(path: Path, settings: Mapping[str, str]) -> None:
    """Refuse unknown names and values of `[notifications]`."""
    for name in settings:
        if name not in NAMES:
            raise InvalidInput(f"{path} has [notifications] {name}, which is unknown", f"use {', '.join(NAMES)}")
    if settings.get("send", SEND[0]) not in SEND:
        raise InvalidInput(f"{path} has [notifications] send = {settings['send']}", f"use one of {', '.join(SEND)}")
    for name in ("webhook", "slack"):
        if name in settings and urllib.parse.urlsplit(settings[name]).scheme not in ("http", "https"):
            raise InvalidInput(f"{path} has [notifications] {name} without http(s)://", "give the whole address")
    if urllib.parse.urlsplit(settings.get("smtp", "smtp://")).scheme not in ("smtp", "smtps"):
        raise InvalidInput(f"{path} has [notifications] smtp without smtp(s)://", "use smtp://host:587")


def message_about(record: RunRecord) -> Message:
    name = record.spec.display_name or record.id
    outcome = status(record)
    cause = record.outcome.cause if record.outcome else None
    seconds = round((record.ended or record.created) - record.created)
    facts: dict[str, Any] = {
        "run": record.id,
        "experiment": record.spec.experiment,
        "name": record.spec.display_name,
        "status": outcome,
        "seconds": seconds,
        "error": cause.message if cause else None,
    }
    reason = f": {facts['error']}" if facts["error"] else ""
    return Message(f"{record.spec.experiment}/{name} {outcome.lower()} after {duration(seconds)}{reason}", facts)


def is_wanted(record: RunRecord, send: str) -> bool:
    if record.spec.notify:
        return True
    if record.spec.parent is not None:
        return False
    return send == "all" or (send == "failed" and status(record) == "Failed")


def _channels(settings: Mapping[str, str]) -> list[str]:
    return [name for name in CHANNELS if settings.get(name)]


def _try(name: str, settings: Mapping[str, str], message: Message) -> str | None:
    try:
        _SENDERS[name](settings, message)
    except (OSError, subprocess.SubprocessError, smtplib.SMTPException, FootplateError) as error:
        return str(error)
    return None


# ── Channels ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _run_command(settings: Mapping[str, str], message: Message) -> None:
    argv = ["/bin/sh", "-c", settings["command"], "footplate", message.text]
    facts = json.dumps({"text": message.text, **message.facts})
    done = subprocess.run(argv, input=facts, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode:
        raise Unavailable(f"exit code {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}")


def _post(address: str, document: Mapping[str, Any]) -> None:
    body = json.dumps(document).encode()
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=_SECONDS):
        pass


def _send_email(settings: Mapping[str, str], message: Message) -> None:
    server = urllib.parse.urlsplit(settings.get("smtp", "smtp://localhost"))
    mail = EmailMessage()
    mail["Subject"] = message.text.splitlines()[0][:200]
    mail["From"] = settings.get("sender") or f"footplate@{socket.getfqdn()}"
    mail["To"] = settings["email"]
    mail.set_content("\n".join([message.text, "", *(f"{key}: {value}" for key, value in message.facts.items())]))
    kind = smtplib.SMTP_SSL if server.scheme == "smtps" else smtplib.SMTP
    with kind(server.hostname or "localhost", server.port or 0, timeout=_SECONDS) as connection:
        connection.ehlo()
        if server.scheme == "smtp" and connection.has_extn("starttls"):
            connection.starttls()
            connection.ehlo()
        if server.username:
            connection.login(urllib.parse.unquote(server.username), urllib.parse.unquote(server.password or ""))
        connection.send_message(mail)


_SENDERS: dict[str, Callable[[Mapping[str, str], Message], None]] = {
    "command": _run_command,
    "webhook": lambda settings, message: _post(settings["webhook"], {"text": message.text, **message.facts}),
    "slack": lambda settings, message: _post(settings["slack"], {"text": message.text}),
    "email": _send_email,
}
