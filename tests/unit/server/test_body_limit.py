from __future__ import annotations

import asyncio
from typing import Any

import pytest

from footplate.errors import InvalidInput
from footplate.server.body_limit import BodyLimit, Memory


def ask(path: str, pieces: list[bytes], announced: int | None = None) -> list[dict[str, Any]]:
    """Return what the limit passes on to the application (its own response has a status)."""
    heard: list[dict[str, Any]] = []
    incoming = [{"type": "http.request", "body": p, "more_body": True} for p in pieces]
    chunked = (b"transfer-encoding", b"chunked")
    headers = [chunked] if announced is None else [(b"content-length", str(announced).encode())]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        for _ in pieces:
            heard.append(await receive())

    async def receive() -> dict[str, Any]:
        return incoming.pop(0)

    async def send(message: Any) -> None:
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


def test_body_that_grows_too_long_has_the_status_413() -> None:
    with pytest.raises(InvalidInput) as caught:
        ask("/api/x", [b"1" * 11])
    assert caught.value.status == 413


def test_memory_is_given_in_the_order_of_requests() -> None:
    async def scenario() -> None:
        memory, order = Memory(10), list[str]()

        async def take(name: str, size: int) -> None:
            await memory.take(size)
            order.append(name)

        await take("first", 8)
        large, small = asyncio.create_task(take("large", 9)), asyncio.create_task(take("small", 1))
        await asyncio.sleep(0)
        assert order == ["first"], "a small request does not overtake a large one for ever"
        memory.give_back(8)
        await asyncio.gather(large, small)
        assert order == ["first", "large", "small"]
        memory.give_back(10)
        assert memory.free == 10

    asyncio.run(scenario())


def test_request_that_is_given_up_leaves_its_memory_to_others() -> None:
    async def scenario() -> None:
        memory = Memory(10)
        await memory.take(10)
        waiting, next_one = asyncio.create_task(memory.take(10)), asyncio.create_task(memory.take(5))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.sleep(0)
        memory.give_back(10)
        await next_one
        assert memory.free == 5

    asyncio.run(scenario())


def test_large_bodies_wait_until_others_are_done() -> None:
    """Twenty bodies of 100 kB with room for two: never more than two are in memory at once."""

    async def scenario() -> None:
        size, inside, most = 100_000, 0, 0

        async def app(scope: Any, receive: Any, send: Any) -> None:
            nonlocal inside, most
            await receive()
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"x" * size, "more_body": False}

        async def send(message: Any) -> None:
            raise AssertionError(message)

        limit = BodyLimit(app, "/api", largest=size, total=2 * size)
        scope = {"type": "http", "method": "PUT", "path": "/x", "headers": [(b"content-length", b"%d" % size)]}
        await asyncio.gather(*(limit(scope, receive, send) for _ in range(20)))
        assert most == 2

    asyncio.run(scenario())
