"""The connection to one worker.

To a worker on this machine it is opened when the worker's socket appears, and opened again when it breaks. A worker on
another machine opens it (`tunnels`), and again when it breaks.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from typing import Any, cast

from footplate.disk import socket_address
from footplate.serving.gateway.memory import Memory, SharedBuffer
from footplate.serving.protocol import (
    HEADER,
    PING_SECONDS,
    BadFrame,
    check_headers,
    check_status,
    pack,
    parse_meta,
    split,
    unpack_header,
)
from footplate.serving.worker.data_collector import KeptRows
from footplate.serving.worker.messages import JSON

RETRY_SECONDS = (0.02, 0.2)
MOST_PINGS = 2

Answer = tuple[int, str, dict[str, str], bytes]
"""Status, content type, headers and body of one item."""


class WorkerLink(SharedBuffer):
    """One connection. It has at most one batch in flight, so that everything else queued joins the next one."""

    def __init__(
        self,
        on_free: Callable[[WorkerLink], None],
        on_lost: Callable[[WorkerLink], None],
        on_kept: Callable[[KeptRows], None],
        memory: Memory,
    ) -> None:
        self._on_kept = on_kept
        self._memory = memory
        self._on_free = on_free
        self._on_lost = on_lost
        self._transport = cast("asyncio.Transport", None)
        self._buffer = bytearray()
        self._skipped = 0  # bytes of a frame that are still to come
        self._done: Callable[[list[Answer]], None] | None = None
        self._batch = 0  # requests in the batch in flight
        self.hello: dict[str, Any] = {}
        self.is_leaving = False
        self._pings = 0  # without an answer
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def is_free(self) -> bool:
        return bool(self.hello) and self._done is None

    def send(self, items: list[dict[str, Any]], bodies: list[bytes], done: Callable[[list[Answer]], None]) -> None:
        """Send a batch; `done` is called with the answers in order, or never if the connection is lost."""
        self._done = done
        self._batch = len(items)
        self._transport.writelines(pack({"batch": 0, "items": items}, bodies))

    def ping(self) -> None:
        """Check an idle connection: one that has answered neither of the last two checks is dead."""
        if self._pings >= MOST_PINGS:
            self._transport.abort()
        elif self.is_free:
            self._pings += 1
            self._transport.writelines(pack({"ping": 1}))

    def abort(self) -> None:
        """Give the connection up at once, with everything that is on its way."""
        if self._transport is not None:  # pyright: ignore[reportUnnecessaryComparison]
            self._transport.abort()

    def close(self) -> None:
        if self._transport is not None:  # pyright: ignore[reportUnnecessaryComparison]
            self._transport.close()

    # ── Called by asyncio ─────────────────────────────────────────────────────────────────────────────────────────────

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._skipped:
            size = min(self._skipped, len(data))
            self._skipped -= size
            data = data[size:]
        self._buffer += data
        self._pings = 0
        try:
            while self._take_frame():
                pass
        except BadFrame:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.hello = {}
        if not self.lost.done():
            self.lost.set_result(None)
        self._on_lost(self)

    def _take_frame(self) -> bool:
        if len(self._buffer) < HEADER.size:
            return False
        meta_length, payload_length = unpack_header(bytes(self._buffer[: HEADER.size]))
        if payload_length > self._memory.total:
            return self._skip_frame(meta_length, payload_length)
        start = HEADER.size + meta_length
        end = start + payload_length
        if len(self._buffer) < end:
            return False
        meta = parse_meta(bytes(self._buffer[HEADER.size : start]))
        with memoryview(self._buffer) as buffer, buffer[start:end] as payload:
            parts = [bytes(part) for part in split(payload, [*_list_of(meta, "items"), *_list_of(meta, "kept")])]
        del self._buffer[:end]
        self._on_frame(meta, parts)
        return True

    def _skip_frame(self, meta_length: int, payload_length: int) -> bool:
        """Refuse answers that are larger than the memory for all answers, without reading them."""
        start = HEADER.size + meta_length
        arrived = min(payload_length, len(self._buffer) - start)
        if arrived < 0:
            return False
        del self._buffer[: start + arrived]
        self._skipped = payload_length - arrived
        words = f"the answer has {payload_length} bytes, and the gateway has {self._memory.total} for all answers"
        body = json.dumps({"message": words}).encode()
        self._on_frame({"items": [{"s": 500, "t": JSON, "n": len(body)}] * self._batch}, [body] * self._batch)
        return True

    def _on_frame(self, meta: dict[str, Any], parts: list[bytes]) -> None:
        if "hello" in meta:
            self.hello = meta
        elif "items" in meta:
            answers, collected = _parse_answers(meta, parts)
            done, self._done = self._done, None
            if done is None or len(answers) != self._batch:
                raise BadFrame(f"{len(answers)} answers to a batch of {self._batch}")
            for rows in collected:
                self._on_kept(rows)
            done(answers)
        self._on_free(self)


def _list_of(meta: dict[str, Any], name: str) -> list[dict[str, Any]]:
    items: Any = meta.get(name, [])
    if not isinstance(items, list):
        raise BadFrame(f"{name} of a frame is {items!r:.100}")
    return cast("list[dict[str, Any]]", items)


def _parse_answers(meta: dict[str, Any], parts: list[bytes]) -> tuple[list[Answer], list[KeptRows]]:
    items, files = _list_of(meta, "items"), _list_of(meta, "kept")
    try:
        answers = [_answer(item, part) for item, part in zip(items, parts, strict=False)]
        texts = [part.decode("utf-8", "replace") for part in parts[len(items) :]]
        return answers, [KeptRows(each["path"], each["header"], text) for each, text in zip(files, texts, strict=True)]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadFrame(f"the answers of a worker are not as agreed: {error!r}") from None


def _answer(item: dict[str, Any], body: bytes) -> Answer:
    """Return what a worker answered; one that is not HTTP is its failure, and reaches neither clients nor figures."""
    content_type, headers = item.get("t"), item.get("h")
    try:
        if content_type == JSON and not headers:  # most are
            return check_status(item.get("s")), JSON, {}, body
        sent = check_headers({**(headers or {}), "content-type": content_type})
        return check_status(item.get("s")), sent.pop("content-type"), sent, body
    except (TypeError, ValueError) as error:
        return 500, JSON, {}, json.dumps({"message": str(error)}).encode()


async def keep_connected(path: str, make: Callable[[], WorkerLink]) -> None:
    """Connect to a worker's socket whenever it can be, until cancelled."""
    loop = asyncio.get_running_loop()
    pause = RETRY_SECONDS[0]
    while True:
        link = make()
        try:
            with socket_address(path) as address:
                await loop.create_unix_connection(lambda made=link: made, address)
        except OSError:
            await asyncio.sleep(pause)
            pause = min(pause * 2, RETRY_SECONDS[1])
            continue
        pause = RETRY_SECONDS[0]
        try:
            await link.lost
        finally:
            link.close()


async def keep_accepted(connection: socket.socket, head: bytes, link: WorkerLink) -> None:
    """Use a connection that the worker has opened until it is lost; `head` ends its request for one."""
    transport, _ = await asyncio.get_running_loop().connect_accepted_socket(lambda: link, connection)
    try:
        transport.write(head)
        while not link.lost.done():
            await asyncio.wait([link.lost], timeout=PING_SECONDS)
            link.ping()
    finally:
        link.close()
