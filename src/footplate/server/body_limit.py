"""Limits on the memory that request bodies take: all but those of blobs, which are streamed, are read whole.

One body has at most `LARGEST_BODY` bytes. All bodies of a listener together have at most `ALL_BODIES` bytes: a request
waits, unread, until its body fits. It takes its share when the application begins to read, so after authorization.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from footplate.errors import InvalidInput, Unavailable
from footplate.server.refusals import TRACKING, TRANSFERS, refuse

LARGEST_BODY = 16 << 20
"""Twice as much as our own clients send at once: 8 MiB of a file in a datastore, 1 MiB of a log."""

ALL_BODIES = 4 * LARGEST_BODY
_SMALL = 64 << 10
"""Smaller bodies do not wait: heartbeats and events must pass large uploads."""

_STALLED_SECONDS = 60.0


class BodyLimit:
    """Rejects larger bodies: at once if they announce their length, otherwise when they have grown too long."""

    def __init__(self, app: ASGIApp, prefix: str, largest: int = LARGEST_BODY, total: int = ALL_BODIES) -> None:
        self._app = app
        artifacts = rf"{TRACKING}.*/mlflow-artifacts/artifacts/.*|{TRANSFERS}.*"
        self._streamed = re.compile(rf"{re.escape(prefix)}/blobs/[^/]+|{artifacts}", re.DOTALL)
        self._largest = largest
        self._memory = Memory(total)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or (scope["method"] == "PUT" and self._streamed.fullmatch(str(scope["path"]))):
            await self._app(scope, receive, send)
            return
        length = _length(scope, self._largest)
        if length > self._largest:
            await refuse(self._too_large(), scope)(scope, receive, send)
            return
        body = _Body(receive, length, self._largest, self._memory, self._too_large)
        try:
            await self._app(scope, body.receive, send)
        finally:
            body.release()

    def _too_large(self) -> InvalidInput:
        error = InvalidInput(
            f"the body of this request has more than {self._largest} bytes", "send large content as blobs, in pieces"
        )
        error.status = 413
        return error


def _length(scope: Scope, unknown: int) -> int:
    """Return the length of the body; `unknown` for one that comes in chunks."""
    headers: dict[bytes, bytes] = {bytes(name): bytes(value) for name, value in scope["headers"]}
    announced = headers.get(b"content-length", b"")
    if announced.isdigit():
        return int(announced)
    return unknown if b"transfer-encoding" in headers else 0


class _Body:
    """The body of one request, which takes its share of the memory when its first byte is requested."""

    def __init__(
        self, receive: Receive, length: int, largest: int, memory: Memory, too_large: Callable[[], Exception]
    ) -> None:
        self._receive, self._length, self._largest = receive, length, largest
        self._memory, self._too_large = memory, too_large
        self._seen = self._held = 0
        self._complete = length == 0

    async def receive(self) -> Message:
        if self._complete:  # all that can follow is the end of the connection
            return await self._receive()
        if self._length > _SMALL and not self._held:
            await self._memory.take(self._length)
            self._held = self._length
        message = await _soon(self._receive)
        self._complete = not message.get("more_body", False)
        self._seen += len(message.get("body", b""))
        if self._seen > self._largest:
            raise self._too_large()
        return message

    def release(self) -> None:
        self._memory.give_back(self._held)
        self._held = 0


async def _soon(receive: Receive) -> Message:
    try:
        return await asyncio.wait_for(receive(), _STALLED_SECONDS)
    except asyncio.TimeoutError:  # the name in Python 3.10, where it differs from the built-in TimeoutError
        raise Unavailable(f"the body of this request stopped for {_STALLED_SECONDS:g} s", "send it again") from None


class Memory:
    """A number of bytes that requests share, first come, first served. Only the event loop's thread may use it."""

    def __init__(self, size: int) -> None:
        self.free = size
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take(self, size: int) -> None:
        if not self._waiting and size <= self.free:
            self.free -= size
            return
        turn = (size, asyncio.get_running_loop().create_future())
        self._waiting.append(turn)
        try:
            await turn[1]
        except asyncio.CancelledError:
            if turn in self._waiting:
                self._waiting.remove(turn)
            else:  # its turn came in the same moment
                self.free += size
            self._wake()
            raise

    def give_back(self, size: int) -> None:
        self.free += size
        self._wake()

    def _wake(self) -> None:
        while self._waiting and self._waiting[0][0] <= self.free:
            size, turn = self._waiting.popleft()
            self.free -= size
            turn.set_result(None)
