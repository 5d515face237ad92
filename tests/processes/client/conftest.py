"""A scripted server: each test decides its responses byte for byte."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest


@dataclass
class Request:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int  # number of the server's connection that carried it, counted from 0


Script = Callable[[Request], "bytes | None"]
"""The bytes of the response; None closes the connection without one."""


@dataclass
class Scripted:
    path: str
    script: Script
    requests: list[Request] = field(default_factory=list)
    connections: int = 0

    @property
    def endpoint(self) -> str:
        return f"unix://{self.path}"

    def listen(self) -> socket.socket:
        door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        door.bind(self.path)
        door.listen(64)
        threading.Thread(target=self._accept, args=(door,), daemon=True).start()
        return door

    def _accept(self, door: socket.socket) -> None:
        while True:
            try:
                caller, _ = door.accept()
            except OSError:
                return
            number, self.connections = self.connections, self.connections + 1
            threading.Thread(target=self._talk, args=(caller, number), daemon=True).start()

    def _talk(self, caller: socket.socket, number: int) -> None:
        with caller, caller.makefile("rb") as reader, contextlib.suppress(OSError):  # clients may close the connection
            while (request := _read(reader, number)) is not None:
                self.requests.append(request)
                reply = self.script(request)
                if reply is None:
                    return
                caller.sendall(reply)
                if b"connection: close" in reply.lower():
                    return


def _read(reader, number: int) -> Request | None:
    line = reader.readline().decode("ascii")
    if not line:
        return None
    method, target, _ = line.split()
    headers: dict[str, str] = {}
    while (header := reader.readline().decode("latin-1").strip()) != "":
        name, _, value = header.partition(":")
        headers[name.lower()] = value.strip()
    return Request(method, target, headers, reader.read(int(headers.get("content-length", "0"))), number)


def reply(body: bytes, status: int = 200, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@pytest.fixture
def scripted() -> Iterator[Callable[[Script], Scripted]]:
    doors: list[socket.socket] = []
    folder = tempfile.mkdtemp(prefix="s", dir="/tmp")

    def make(script: Script) -> Scripted:
        server = Scripted(os.path.join(folder, f"{len(doors)}.sock"), script)
        doors.append(server.listen())
        return server

    yield make
    for door in doors:
        door.shutdown(socket.SHUT_RDWR)
        door.close()
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    os.rmdir(folder)


@pytest.fixture
def ok() -> Callable[..., bytes]:
    return reply
