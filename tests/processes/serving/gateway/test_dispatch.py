"""When a worker gets its next batch: before the answers to the last one are written, unless memory is short."""

from __future__ import annotations

import asyncio
import socket

import pytest

from footplate.domain.serving.routes import ServiceRoute, VersionRoute
from footplate.serving.gateway.dispatch import VersionPool
from footplate.serving.gateway.memory import Memory
from footplate.serving.gateway.metrics import VersionMetrics
from footplate.serving.gateway.worker_link import Answer
from footplate.serving.protocol import HEADER, pack, unpack_header


class PlayedWorker:
    """The other end of a connection: answers a batch when the test says so."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        writer.writelines(pack({"hello": 1, "batches": True}))

    async def take_batch(self) -> None:
        meta, payload = unpack_header(await self._reader.readexactly(HEADER.size))
        await self._reader.readexactly(meta + payload)

    def answer(self, bodies: list[bytes]) -> None:
        items = [{"s": 200, "t": "application/json", "n": len(body)} for body in bodies]
        self._writer.writelines(pack({"batch": 0, "items": items}, bodies))

    def close(self) -> None:
        self._writer.close()


@pytest.mark.parametrize("memory, running", [(1 << 20, 2), (1000, 0)])
def test_a_worker_has_its_next_batch_while_answers_are_written(memory: int, running: int) -> None:
    async def scenario() -> None:
        version = VersionRoute(tunnels=("run",))
        pool = VersionPool(ServiceRoute(), version, VersionMetrics("s", "1"), Memory(memory))
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        pool.accept("run", ours, b"")
        worker = PlayedWorker(*await asyncio.open_unix_connection(sock=theirs))
        while not pool.healthy:
            await asyncio.sleep(0)
        seen: list[tuple[bytes, int]] = []

        def done(answer: Answer) -> None:
            seen.append((answer[3], pool.running))

        for body in (b"1", b"2", b"3"):
            pool.submit({"n": 1}, body, done)
        assert (pool.running, pool.waiting) == (1, 2)
        await worker.take_batch()
        worker.answer([b"x" * 600])
        await worker.take_batch()
        worker.answer([b"second", b"third"])
        while len(seen) < 3:
            await asyncio.sleep(0)
        assert seen == [(b"x" * 600, running), (b"second", 0), (b"third", 0)]
        worker.close()
        pool.close()

    asyncio.run(asyncio.wait_for(scenario(), 120))
