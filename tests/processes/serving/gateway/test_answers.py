"""Answers of workers that are not HTTP: the gateway sends none of them, and goes on."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from footplate.serving.protocol import pack, read_frame

from .conftest import GatewayProcess


@contextmanager
def rogue_worker(path: Path, answer: dict[str, Any], body: bytes = b"body") -> Iterator[str]:
    """Answer each batch with the same meta data, whatever it is, on one connection after the other."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with suppress(OSError), connection, connection.makefile("rb") as stream:
                connection.sendall(b"".join(pack({"hello": 1, "batches": False})))
                while read_frame(stream) is not None:
                    connection.sendall(b"".join(pack(answer, [body])))

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield str(path)
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


GOOD = {"s": 200, "t": "text/plain", "h": {}, "n": 4}


@pytest.mark.parametrize(
    "item",
    [
        {"s": "200"},
        {"s": None},
        {"s": 99},
        {"s": 100},
        {"s": 1000},
        {"s": [200]},
        {"t": 5},
        {"t": "a\r\nx: y"},
        {"h": {"x": "y\r\nz: 1"}},
        {"h": {"x\n": "y"}},
        {"h": {"x": 5}},
        {"h": [1]},
    ],
)
def test_an_answer_that_is_not_http_is_a_500(gateway: GatewayProcess, tmp_path: Path, item: dict[str, Any]) -> None:
    with rogue_worker(tmp_path / "w.sock", {"batch": 0, "items": [{**GOOD, **item}]}) as path:
        gateway.route("s", [path])
        assert [gateway.score("s")[0] for _ in range(2)] == [500, 500]
        text = gateway.ask("/metrics", None, "GET")[2].decode()
        requests = next(iter(text_string_to_metric_families(text))).samples
        assert [(sample.labels["status"], sample.value) for sample in requests] == [("500", 2.0)]
        gateway.process.terminate()
        assert gateway.process.wait(120) == 0


@pytest.mark.parametrize(
    "answer", [{"items": []}, {"items": [GOOD, GOOD]}, {"items": [{"s": 200}]}, {"items": 3}, {"items": ["x"]}]
)
def test_answers_that_do_not_fit_the_batch_are_a_503(
    gateway: GatewayProcess, tmp_path: Path, answer: dict[str, Any]
) -> None:
    with rogue_worker(tmp_path / "w.sock", answer, b"bodybody") as path:
        gateway.route("s", [path])
        status, _, body = gateway.score("s")
        assert (status, b"twice" in body) == (503, True)
        gateway.process.terminate()
        assert gateway.process.wait(120) == 0


def test_framing_belongs_to_the_gateway_and_a_204_has_no_body(gateway: GatewayProcess, tmp_path: Path) -> None:
    headers = {
        "Content-Length": "9",
        "Transfer-Encoding": "chunked",
        "Connection": "close",
        "X-Request-ID": "mine",
        "X-A": "1",
    }
    answer = {"items": [{**GOOD, "s": 204, "h": headers}]}
    with (
        rogue_worker(tmp_path / "w.sock", answer) as path,
        socket.create_connection(("127.0.0.1", gateway.port)) as client,
    ):
        gateway.route("s", [path])
        client.sendall(b"POST /api/v1/service/s/score HTTP/1.1\r\nx-request-id: r1\r\nContent-Length: 0\r\n\r\n" * 2)
        received = b""
        while received.count(b"\r\n\r\n") < 2:
            received += client.recv(10_000)
        client.shutdown(socket.SHUT_WR)
        assert client.recv(100) == b""
        gateway.process.terminate()
        assert gateway.process.wait(120) == 0
    first, second, rest = received.lower().split(b"\r\n\r\n")
    assert (first, rest) == (second, b"")
    lines = sorted(first.decode().split("\r\n"))
    assert lines == sorted(
        ["http/1.1 204 no content", "x-a: 1", "x-request-id: r1", "x-ms-request-id: r1", "connection: keep-alive"]
    )
