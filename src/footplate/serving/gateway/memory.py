"""The memory that bodies of requests and unread answers take, of all services together.

Bodies are read until the memory is full; then connections wait, unread. Workers get no more requests while unread
answers take half of it. Clients that read too slowly are disconnected when somebody waits for the memory they hold.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Protocol

DEFAULT_BYTES = 256 << 20
SLOWEST = 64 * 1024
"""Bytes a second that a client has to read while others wait for memory."""

_CHUNK = 256 * 1024  # the most that a connection reads at once
_RECEIVED = memoryview(bytearray(_CHUNK))
_GRACE_SECONDS = 1.0
_CHECK_SECONDS = 0.25


class SharedBuffer(asyncio.BufferedProtocol):
    """A protocol whose connections receive into one buffer, one after the other.

    asyncio would make a buffer of 256 KiB for each read, which costs more than reading a small request.
    """

    def get_buffer(self, sizehint: int) -> memoryview:
        return _RECEIVED

    def buffer_updated(self, nbytes: int) -> None:
        self.data_received(bytes(_RECEIVED[:nbytes]))

    def data_received(self, data: bytes) -> None:
        """Take what has arrived."""
        raise NotImplementedError


class Reader(Protocol):
    """A connection whose client has not read an answer yet."""

    @property
    def unread(self) -> int:
        """How many bytes its client has still to read."""
        ...

    def abort(self) -> None:
        """Disconnect now; the memory is free when `forget` is called."""
        ...


class Memory:
    """A number of bytes. Bodies may exceed it by what one read brings, and answers by those on their way."""

    def __init__(self, total: int = DEFAULT_BYTES) -> None:
        self.total = total
        self._bodies = 0
        self._answers = 0
        self._readers: dict[Reader, tuple[int, float]] = {}  # bytes, and since when they are unread
        self._waiting: deque[Callable[[], None]] = deque()  # to read more of a body
        self._stopped: set[Callable[[], None]] = set()  # to send requests to workers
        self._timer: asyncio.TimerHandle | None = None

    @property
    def used(self) -> int:
        return self._bodies + self._answers

    @property
    def is_full(self) -> bool:
        return self._bodies + self._answers >= self.total

    @property
    def is_unread(self) -> bool:
        """Whether answers that nobody reads take so much that no more may be made."""
        return self._answers >= self.total // 2

    def take(self, size: int) -> None:
        self._bodies += size

    @contextmanager
    def expecting(self, size: int) -> Generator[None]:
        """Count answers that are about to be written."""
        self._answers += size
        yield
        self._answers -= size

    def give_back(self, size: int) -> None:
        self._bodies -= size
        if self._timer is not None:
            self._wake()

    def remember(self, reader: Reader) -> None:
        """Count an answer that its client has not read at once."""
        size = reader.unread
        self._answers += size
        self._readers[reader] = size, asyncio.get_running_loop().time()

    def forget(self, reader: Reader) -> None:
        """Free the memory of an answer that is read, or lost."""
        size, _ = self._readers.pop(reader, (0, 0.0))
        self._answers -= size
        if size and self._timer is not None:
            self._wake()

    def wait(self, go_on: Callable[[], None]) -> None:
        """Call a function when a body may grow."""
        self._waiting.append(go_on)
        self._watch()

    def wait_for_readers(self, go_on: Callable[[], None]) -> None:
        """Call a function when more answers may be made."""
        self._stopped.add(go_on)
        self._watch()

    def _watch(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_CHECK_SECONDS, self._check)

    def _check(self) -> None:
        self._timer = None
        self._disconnect_slow_readers()
        self._wake()
        if self._waiting or self._stopped:
            self._watch()

    def _wake(self) -> None:
        for _ in range((self.total - self.used) // _CHUNK + 1):
            if not self._waiting or self.is_full:
                break
            self._waiting.popleft()()
        if self._stopped and not self.is_unread:
            stopped, self._stopped = self._stopped, set()
            for go_on in stopped:
                go_on()

    def _disconnect_slow_readers(self) -> None:
        """Disconnect the slowest readers until there is room, but none that reads at a reasonable speed."""
        now = asyncio.get_running_loop().time()
        rates = {
            reader: (size - reader.unread) / (now - since)
            for reader, (size, since) in self._readers.items()
            if now - since > _GRACE_SECONDS
        }
        for reader in sorted(rates, key=lambda each: rates[each]):
            if rates[reader] >= SLOWEST or not (self.is_full or self.is_unread):
                return
            reader.abort()
            self.forget(reader)
