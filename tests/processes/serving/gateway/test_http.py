"""Connections of clients: order, deadlines and memory, with a clock that tests set forward."""

from __future__ import annotations

import asyncio
import gc
import ssl
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from footplate.serving.gateway.http import HttpConnection, HttpRequest, HttpResponse, Respond
from footplate.serving.gateway.memory import Memory
from support.indexes import self_sign

LARGE = 32 << 20


class ShiftedLoop(asyncio.SelectorEventLoop):
    """A loop whose clock can be set forward."""

    shift = 0.0

    def time(self) -> float:
        return super().time() + self.shift


@dataclass
class Application:
    """Answers with the body; at /later when the test says so, at /large with much, and at /no without the body."""

    memory: Memory
    later: list[tuple[HttpRequest, Respond]] = field(default_factory=list[tuple[HttpRequest, Respond]])
    connections: set[HttpConnection] = field(default_factory=set[HttpConnection])

    def admit(self, request: HttpRequest) -> HttpResponse | int:
        return HttpResponse(401, b"no") if request.target == "/no" else 10 << 20

    def handle(self, request: HttpRequest, respond: Respond) -> None:
        if request.target == "/later":
            self.later.append((request, respond))
        else:
            respond(HttpResponse(200, b"x" * LARGE if request.target == "/large" else request.body))

    def answer(self) -> None:
        request, respond = self.later.pop(0)
        respond(HttpResponse(200, request.body))


Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[[], Awaitable[Client]]


def served(
    scenario: Callable[[Application, Connect], Any], memory: int = 1 << 30, certificate: tuple[Path, Path] | None = None
) -> None:
    loop = ShiftedLoop()
    tls = trusting = None
    if certificate is not None:
        tls, trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context(cafile=certificate[0])
        tls.load_cert_chain(*certificate)

    async def run() -> None:
        application = Application(Memory(memory))
        server = await loop.create_server(
            lambda: HttpConnection(application, application.connections, application.memory), "127.0.0.1", 0, ssl=tls
        )
        clients: list[Client] = []

        async def connect() -> Client:
            address, name = server.sockets[0].getsockname(), "localhost" if trusting else None
            clients.append(await asyncio.open_connection(*address, limit=1 << 16, ssl=trusting, server_hostname=name))
            return clients[-1]

        try:
            await scenario(application, connect)
        finally:
            server.close()
            for _, writer in clients:
                writer.close()
            for connection in list(application.connections):
                connection.abort()
            await settled()

    try:
        loop.run_until_complete(asyncio.wait_for(run(), 100_000))
    finally:
        loop.close()


async def settled() -> None:
    """Wait until what was sent on this machine has arrived."""
    for _ in range(200):
        await asyncio.sleep(0)


async def pass_time(seconds: float) -> None:
    await settled()
    loop = asyncio.get_running_loop()
    assert isinstance(loop, ShiftedLoop)
    loop.shift += seconds
    await settled()


def post(target: str, body: bytes = b"", *headers: bytes) -> bytes:
    lines = [f"POST {target} HTTP/1.1".encode(), b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


async def answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Return status and body of one response."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
    return int(head.split()[1]), await reader.readexactly(length)


def test_an_idle_connection_is_closed_without_a_word() -> None:
    async def scenario(application: Application, connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(post("/", b"a"))
        assert await answer(reader) == (200, b"a")
        await pass_time(80)
        assert await reader.read() == b""

    served(scenario)


def test_requests_of_any_size_follow_each_other_over_tls(tmp_path: Path) -> None:
    async def scenario(application: Application, connect: Connect) -> None:
        reader, writer = await connect()
        for size in (0, 1, 1, 100_000, 1, 3_000_000, 262_145):
            body = bytes(number % 251 for number in range(size))
            writer.write(post("/", body))
            assert await asyncio.wait_for(answer(reader), 20) == (200, body), size

    served(scenario, certificate=self_sign(tmp_path, "localhost"))


def test_half_a_request_waits_for_the_answer_to_the_one_before() -> None:
    async def scenario(application: Application, connect: Connect) -> None:
        reader, writer = await connect()
        second = post("/", b"second")
        writer.write(post("/later", b"first") + second[:-3])
        for _ in range(5):
            await pass_time(55)
        application.answer()
        assert await answer(reader) == (200, b"first")
        writer.write(second[-3:])
        assert await answer(reader) == (200, b"second")
        writer.write(second[:-3])
        await pass_time(70)
        assert (await answer(reader))[0] == 408, "alone, it has to arrive in time"
        assert await reader.read() == b""

    served(scenario)


@pytest.mark.parametrize("target", ["/", "/later"])
def test_thousands_of_pipelined_requests_are_answered_in_order(target: str) -> None:
    async def scenario(application: Application, connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(b"".join(post(target, str(number).encode()) for number in range(5000)))
        for number in range(5000):
            while target == "/later" and not application.later:
                await asyncio.sleep(0)
            if application.later:
                application.answer()
            assert await answer(reader) == (200, str(number).encode())

    served(scenario)


@pytest.mark.parametrize(
    "sent, statuses",
    [
        (b"CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n", [405]),
        (b"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", [200]),
        (post("/", b"a", b"Connection: Upgrade", b"Upgrade: h2c"), [400]),
        (post("/later", b"a") + b"nonsense\r\n\r\n", [200, 400]),
        (post("/later", b"a") + post("/", b"b") + post("/", b"x" * 9)[:-60] + b"\x00\r\n\r\n", [200, 200, 400]),
        (post("/later") + b"POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n" + post("/"), [200, 413]),
        (post("/", b"a", b"Connection: close") + post("/", b"b"), [200]),
    ],
)
def test_each_request_gets_one_response_in_its_turn(sent: bytes, statuses: list[int]) -> None:
    async def scenario(application: Application, connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(sent)
        await settled()
        while application.later:
            application.answer()
            await settled()
        assert [(await answer(reader))[0] for _ in statuses] == statuses
        assert await reader.read() == b""

    served(scenario)


def test_a_refused_body_is_not_kept_and_the_client_reads_why() -> None:
    async def scenario(application: Application, connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(post("/no", b"x" * 1000) + post("/", b"next"))
        assert [await answer(reader), await answer(reader)] == [(401, b"no"), (200, b"next")]
        writer.write(post("/no", b"x" * (8 << 20)))
        assert await answer(reader) == (401, b"no")
        assert not application.memory.is_full
        await writer.drain()  # it could send all of its body
        assert await reader.read() == b""

    served(scenario, memory=1 << 20)


def test_100_continue_follows_the_answers_before_it() -> None:
    async def scenario(application: Application, connect: Connect) -> None:
        reader, writer = await connect()
        head, body = post("/", b"body", b"Expect: 100-continue")[:-4], b"body"
        writer.write(post("/later", b"first") + head)
        await settled()
        application.answer()
        assert await answer(reader) == (200, b"first")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(body)
        assert await answer(reader) == (200, body)
        writer.write(post("/no", b"body", b"Expect: 100-continue")[:-4])
        assert await answer(reader) == (401, b"no")

    served(scenario)


def test_bodies_wait_for_memory_and_are_refused_when_there_is_none() -> None:
    async def scenario(application: Application, connect: Connect) -> None:
        body = b"x" * (1 << 20)
        clients = [await connect() for _ in range(8)]
        for _, writer in clients:
            writer.write(post("/later", body)[:-1])
        await settled()
        assert application.memory.is_full
        reader, writer = await connect()
        writer.write(post("/", b"small"))
        assert await answer(reader) == (200, b"small")
        await pass_time(11)
        answers = [asyncio.ensure_future(answer(reader)) for reader, _ in clients]
        await settled()
        refused = [task for task in answers if task.done()]
        assert 0 < len(refused) < 8 and {task.result()[0] for task in refused} == {503}
        for task, (_, writer) in zip(answers, clients, strict=True):
            if task not in refused:
                writer.write(b"x")
        await settled()
        while application.later:
            application.answer()
            await settled()
        assert sorted([status for status, _ in await asyncio.gather(*answers)]) == [200] * (8 - len(refused)) + [
            503
        ] * len(refused)
        assert application.memory.used == 0

    served(scenario, memory=4 << 20)


@pytest.fixture
def traced() -> Iterator[Callable[[], int]]:
    """Return the bytes of Python objects, without help from the collector of cycles: it may run hours later."""
    gc.collect()
    gc.disable()
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    gc.enable()


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("end", ["unfinished", "waiting", "in_hand", "answered", "idle"])
def test_bodies_are_freed_with_their_request(traced: Callable[[], int], end: str, chunked: bool) -> None:
    body = b"x" * (1 << 20)
    message = post("/later" if end in ("waiting", "in_hand") else "/", body)
    if chunked:
        message = message.replace(b"Content-Length: 1048576", b"Transfer-Encoding: chunked")
        message = message.replace(body, b"100000\r\n" + body + b"\r\n0\r\n\r\n")

    async def scenario(application: Application, connect: Connect) -> None:
        before = traced()
        for _ in range(8):
            reader, writer = await connect()
            writer.write(message[:-1] if end == "unfinished" else message * (2 if end == "waiting" else 1))
            await settled()
            if end in ("answered", "idle"):
                assert (await answer(reader))[0] == 200
            if end != "idle":
                writer.transport.abort()
            await settled()
        while application.later:
            application.answer()
        await settled()
        assert application.memory.used == 0
        assert traced() - before < len(body)

    served(scenario)


def test_an_answer_that_nobody_reads_is_given_up() -> None:
    async def scenario(application: Application, connect: Connect) -> None:
        _, writer = await connect()
        writer.transport.pause_reading()  # pyright: ignore[reportAttributeAccessIssue]
        writer.write(post("/large") * 5)
        await settled()
        assert 0 < application.memory.used < LARGE + 1000, "one answer at a time"
        await pass_time(30 + LARGE / (64 * 1024) + 1)
        assert (application.memory.used, application.connections) == (0, set())

    served(scenario)


def test_slow_readers_make_room_for_others_and_fast_ones_stay() -> None:
    async def scenario(application: Application, connect: Connect) -> None:
        asleep, awake = [await connect() for _ in range(2)], await connect()
        for _, writer in asleep:
            writer.transport.pause_reading()  # pyright: ignore[reportAttributeAccessIssue]
        for _, writer in (*asleep, awake):
            writer.write(post("/large"))
        await settled()
        assert application.memory.is_unread
        has_room = asyncio.Event()
        application.memory.wait_for_readers(has_room.set)
        received = asyncio.ensure_future(answer(awake[0]))
        while not (received.done() and has_room.is_set()):
            await pass_time(0.01)
        assert received.result() == (200, b"x" * LARGE)
        assert len(application.connections) < 3

    served(scenario, memory=3 * LARGE)
