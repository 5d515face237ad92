from __future__ import annotations

import asyncio
from typing import Any

import pytest

from footplate.errors import InvalidInput
from footplate.server.body_limit import BodyLimit


def ask(path: str, pieces: list[bytes], announced: int | None = None) -> list[dict[str, Any]]:
    """Return what the limit passes on to the application (its own response has a status)."""
    heard: list[dict[str, Any]] = []
    incoming = [{"type": "http.request", "body": p, "more_body": True} for p in pieces]
    headers = [] if announced is None else [(b"content-length", str(announced).encode())]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        for _ in pieces:
            heard.append(await receive())

    async def receive() -> dict[str, Any]:
        return incoming.pop(0)

    async def send(message: dict[str, Any]) -> None:
        heard.append(message)

    scope = {"type": "http", "method": "PUT", "path": path, "headers": headers}
    asyncio.run(BodyLimit(app, "/api", largest=10)(scope, receive, send))
    return heard


def test_small_bodies_pass() -> None:
    assert [m["body"] for m in ask("/api/x", [b"12345", b"67890"], 10)] == [b"12345", b"67890"]


def test_a_body_that_announces_too_much_is_refused_unread() -> None:
    assert ask("/api/x", [b"1"], 11)[0]["status"] == 413


def test_a_body_that_grows_too_long_is_cut_off() -> None:
    with pytest.raises(InvalidInput, match="more than 10 bytes"):
        ask("/api/x", [b"12345", b"67890", b"1"])


def test_blobs_may_be_of_any_size() -> None:
    assert len(ask("/api/blobs/abc", [b"12345", b"67890", b"1"], 11)) == 3
