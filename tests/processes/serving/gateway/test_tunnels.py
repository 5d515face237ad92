"""Connections of workers on other machines, handed over as the server does it."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any, BinaryIO, cast

from footplate.services.endpoints.gateway_process import GatewayProcess as Gateway
from footplate.serving.protocol import pack, read_frame
from footplate.testing.waiting import wait_until

from .conftest import GatewayProcess


class FarWorker:
    """A worker behind a connection that it has opened."""

    def __init__(self, gateway: GatewayProcess, run: str) -> None:
        near, self.connection = socket.socketpair()
        self.stream: Any = self.connection.makefile("rwb")
        wait_until((gateway.folder / "gateway.sock").exists)
        Gateway(gateway.home, 1 << 20).hand_over(run, near.fileno())
        near.close()
        self.head = b"".join(iter(self.stream.readline, b"\r\n"))

    def send(self, meta: dict[str, Any], *parts: bytes) -> None:
        self.stream.writelines(pack(meta, parts))
        self.stream.flush()

    def receive(self) -> dict[str, Any]:
        frame = read_frame(cast("BinaryIO", self.stream))
        assert frame is not None, "the gateway closed the connection"
        return frame[0]

    def answer(self, body: bytes) -> None:
        assert [item["p"] for item in self.receive()["items"]] == ["score"]
        self.send({"batch": 0, "items": [{"s": 200, "t": "text/plain", "n": len(body)}]}, body)

    def close(self) -> None:
        self.stream.close()
        self.connection.close()


def route(gateway: GatewayProcess, *runs: str) -> None:
    gateway.services["far"] = {"versions": {"1": {"tunnels": list(runs)}}}
    gateway.write()
    wait_until(lambda: "1" in gateway.status("far"))


def ask(gateway: GatewayProcess) -> tuple[threading.Thread, list[bytes]]:
    found: list[bytes] = []
    thread = threading.Thread(target=lambda: found.append(gateway.score("far")[2]))
    thread.start()
    return thread, found


def test_a_far_worker_answers_through_its_own_connection(gateway: GatewayProcess) -> None:
    route(gateway, "run-1")
    worker = FarWorker(gateway, "run-1")
    assert worker.head.startswith(b"HTTP/1.1 101 ") and b"Upgrade: footplate-worker" in worker.head
    assert gateway.healthy("far") == {"1": 0}, "it has not said that its model is loaded"
    worker.send({"hello": 1, "batches": False})
    wait_until(lambda: gateway.healthy("far") == {"1": 1})
    thread, found = ask(gateway)
    worker.answer(b"first")
    thread.join()
    assert found == [b"first"]
    assert worker.receive() == {"ping": 1}, "an idle connection is checked"
    worker.close()
    wait_until(lambda: gateway.healthy("far") == {"1": 0})


def test_a_request_in_hand_moves_to_the_next_connection(gateway: GatewayProcess) -> None:
    route(gateway, "run-1")
    old = FarWorker(gateway, "run-1")
    old.send({"hello": 1, "batches": False})
    thread, found = ask(gateway)
    assert "items" in old.receive()
    new = FarWorker(gateway, "run-1")  # the old one has not been closed: its machine lost the network
    assert old.connection.recv(1) == b"", "the gateway closes the old connection"
    new.send({"hello": 1, "batches": False})
    new.answer(b"second try")
    thread.join()
    assert found == [b"second try"]
    old.close()
    new.close()


def test_rows_that_a_far_script_keeps_come_with_its_answer(gateway: GatewayProcess, tmp_path: Path) -> None:
    route(gateway, "run-1")
    gateway.services["far"]["versions"]["1"]["model_data"] = str(tmp_path / "data")
    gateway.write()
    gateway.follow()
    worker = FarWorker(gateway, "run-1")
    worker.send({"hello": 1, "batches": False})
    for number, path in enumerate(("ws/web/inputs.csv", "ws/web/inputs.csv", "../stolen.csv", "/stolen.csv", "x/y.py")):
        thread, found = ask(gateway)
        worker.receive()
        rows = f"{number}\n".encode()
        kept = [{"path": path, "header": "x\n", "n": len(rows)}]
        worker.send({"batch": 0, "items": [{"s": 200, "t": "text/plain", "n": 2}], "kept": kept}, b"ok", rows)
        thread.join()
        assert found == [b"ok"]
    files = {str(file.relative_to(tmp_path)): file.read_text() for file in tmp_path.rglob("*.csv")}
    assert files == {"data/ws/web/inputs.csv": "x\n0\n1\n"} and not list(tmp_path.rglob("*.py"))
    worker.close()


def test_a_worker_that_is_not_routed_is_refused(gateway: GatewayProcess) -> None:
    route(gateway, "run-1")
    stranger = FarWorker(gateway, "run-2")
    assert stranger.head.startswith(b"HTTP/1.1 503 ")
    stranger.close()
    worker = FarWorker(gateway, "run-1")
    worker.send({"hello": 1, "batches": False})
    wait_until(lambda: gateway.healthy("far") == {"1": 1})
    gateway.services["far"]["versions"]["1"]["tunnels"] = []
    gateway.write()
    assert worker.connection.recv(1) == b"", "fewer replicas are wanted"
    worker.close()
