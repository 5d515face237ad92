from __future__ import annotations

import asyncio
import logging
import os
import socket
from typing import Any

from uvicorn.server import ServerState

from footplate.errors import Unavailable
from footplate.server import connections
from footplate.server.connections import ConnectionPool


async def _echo(scope: Any, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


async def _opened(sent: bytes, header_seconds: float, monkeypatch: Any) -> bytes:
    """Send bytes to a listener; return everything that it answers until it closes the connection."""
    monkeypatch.setattr(connections, "HEADER_SECONDS", header_seconds)
    monkeypatch.setattr(connections, "BODY_SECONDS", header_seconds)
    config = connections.ServerConfig(
        _echo, ConnectionPool(9), lifespan="off", log_config=None, timeout_keep_alive=0.05
    )
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: connections.HttpConnection(config, state, {}), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(sent)
    answer = await asyncio.wait_for(reader.read(), 60)
    writer.close()
    server.close()
    return answer


def test_half_a_head_or_half_a_body_is_not_waited_for(monkeypatch: Any) -> None:
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    for sent in (b"", b"GET / HT", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"):
        assert asyncio.run(_opened(sent, 0.05, monkeypatch)) == b"", sent


def test_a_whole_request_is_answered_however_long_it_takes(monkeypatch: Any) -> None:
    answer = asyncio.run(_opened(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 60.0, monkeypatch))
    assert answer.startswith(b"HTTP/1.1 200") and answer.endswith(b"ok")


async def _handed_over(refuse: bool) -> tuple[bytes, list[int]]:
    """Ask a listener for another protocol, whose other side is a descriptor; return the answer and what was taken."""
    taken: list[int] = []

    def take(descriptor: int) -> None:
        if refuse:
            raise Unavailable("nobody takes it", "try again")
        taken.append(os.dup(descriptor))

    async def application(scope: Any, receive: Any, send: Any) -> None:
        try:
            scope["state"][connections.CONNECTION].hand_over(take)
        except Unavailable:
            await send({"type": "http.response.start", "status": 503, "headers": [(b"connection", b"close")]})
            await send({"type": "http.response.body", "body": b""})

    config = connections.ServerConfig(application, ConnectionPool(9), lifespan="off", log_config=None)
    config.load()
    loop, state = asyncio.get_running_loop(), ServerState()
    server = await loop.create_server(lambda: connections.HttpConnection(config, state, {}), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: frames\r\n\r\n")
    if refuse:
        return await asyncio.wait_for(reader.read(), 60), taken
    while not taken or state.connections:
        await asyncio.sleep(0.001)
    with socket.socket(fileno=taken[0]) as other:
        other.setblocking(False)
        await loop.sock_sendall(other, b"switched")
        writer.write(b"hello")
        assert await loop.sock_recv(other, 100) == b"hello"
    answer = await asyncio.wait_for(reader.read(), 60)
    writer.close()
    server.close()
    return answer, taken


def test_a_connection_lives_on_in_the_process_that_takes_it() -> None:
    answer, _ = asyncio.run(_handed_over(refuse=False))
    assert answer == b"switched"


def test_a_connection_that_nobody_takes_gets_a_response() -> None:
    answer, taken = asyncio.run(_handed_over(refuse=True))
    assert answer.startswith(b"HTTP/1.1 503 ") and not taken
