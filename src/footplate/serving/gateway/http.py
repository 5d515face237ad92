"""HTTP/1.1 on the front side: parsed by httptools, one request of a connection at a time, and bounded in every way.

A client that sends slowly costs one idle connection and nothing else; one that sends too slowly, too much, or not
HTTP at all is answered and disconnected.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Protocol, cast

import httptools

HEADER_BYTES = 64 * 1024
HEADER_SECONDS = 10.0
BODY_SECONDS = 60.0
IDLE_SECONDS = 75.0
_HEADER_OVERHEAD = 32  # of each header in memory, so that many small ones are bounded, too
_PIPELINED = 64
_WITHOUT_BODY = (204, 304)
_REASONS = {status.value: status.phrase for status in HTTPStatus}


@dataclass
class HttpRequest:
    """One request of a client."""

    method: str = ""
    target: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    keep_alive: bool = True


@dataclass(frozen=True)
class HttpResponse:
    """One response to it."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def encode(self, keep_alive: bool, head: bool = False) -> bytes:
        is_empty = self.status in _WITHOUT_BODY  # clients would take a body for the next response
        lines = [
            f"HTTP/1.1 {self.status} {_REASONS.get(self.status, '')}",
            *(() if is_empty else (f"content-type: {self.content_type}", f"content-length: {len(self.body)}")),
            *(f"{name}: {value}" for name, value in self.headers.items()),
            "connection: keep-alive" if keep_alive else "connection: close",
            "\r\n",
        ]
        return "\r\n".join(lines).encode("latin-1", "replace") + (b"" if head or is_empty else self.body)


Respond = Callable[[HttpResponse], None]


class Application(Protocol):
    """Whatever answers requests."""

    def body_limit(self, target: str) -> int:
        """Return how long a body for this target may be."""
        ...

    def handle(self, request: HttpRequest, respond: Respond) -> None:
        """Answer now or later, once."""
        ...


class HttpConnection(asyncio.Protocol):
    """One connection of a client."""

    def __init__(self, application: Application, connections: set[HttpConnection]) -> None:
        self._application = application
        self._connections = connections
        self._transport = cast("asyncio.Transport", None)
        self._parser: Any = httptools.HttpRequestParser(self)
        self._request = HttpRequest()
        self._parts: list[bytes] = []
        self._size = 0
        self._limit = 0
        self._waiting: deque[HttpRequest] = deque()
        self._current: HttpRequest | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._deadline: float | None = None
        self._closing = False

    # ── Called by asyncio ─────────────────────────────────────────────────────────────────────────────────────────────

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._connections.add(self)
        self._wait(HEADER_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self._closing = True
        self._cancel_timer()

    def data_received(self, data: bytes) -> None:
        if self._closing:
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._refuse(400, "this server does not change protocols")
        except httptools.HttpParserError as error:
            cause = error.__context__
            if isinstance(cause, _Refusal):
                self._refuse(cause.status, cause.message)
            else:
                self._refuse(400, "the request is not HTTP/1.1")
        except _Refusal as refusal:
            self._refuse(refusal.status, refusal.message)

    # ── Called by the parser ──────────────────────────────────────────────────────────────────────────────────────────

    def on_message_begin(self) -> None:
        self._request, self._parts, self._size, self._limit = HttpRequest(), [], 0, 0
        self._wait(HEADER_SECONDS)

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        self._request.target += url.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + _HEADER_OVERHEAD)
        self._request.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self._request.method = self._parser.get_method().decode("latin-1")
        self._size, self._limit = 0, self._application.body_limit(self._request.target)
        announced = self._request.headers.get("content-length", "0")
        if announced.isdigit() and int(announced) > self._limit:
            raise _Refusal(413, f"the body is {announced} bytes long, and at most {self._limit} are allowed")
        if self._request.headers.get("expect", "").lower() == "100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._wait(BODY_SECONDS)

    def on_body(self, body: bytes) -> None:
        self._size += len(body)
        if self._size > self._limit:
            raise _Refusal(413, f"the body is longer than {self._limit} bytes")
        self._parts.append(body)

    def on_message_complete(self) -> None:
        request = self._request
        request.body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        request.keep_alive = self._parser.should_keep_alive()
        self._deadline = None
        if self._current is None:
            self._begin(request)
        elif len(self._waiting) >= _PIPELINED:
            raise _Refusal(429, "too many requests are pipelined on this connection")
        else:
            self._waiting.append(request)
            self._transport.pause_reading()

    # ── One request at a time ─────────────────────────────────────────────────────────────────────────────────────────

    def _begin(self, request: HttpRequest) -> None:
        self._current = request
        self._application.handle(request, self._respond)

    def _respond(self, response: HttpResponse) -> None:
        request, self._current = self._current, None
        if self._closing or request is None:
            return
        keep = request.keep_alive
        self._transport.write(response.encode(keep, request.method == "HEAD"))
        if not keep:
            self._close()
        elif self._waiting:
            # Not from here: a service that answers at once would go deeper with every pipelined request.
            asyncio.get_running_loop().call_soon(self._begin, self._waiting.popleft())
        else:
            self._transport.resume_reading()
            self._wait(IDLE_SECONDS)

    def shut_down(self) -> None:
        """Close when the request in hand is answered."""
        if self._current is None:
            self._close()
        else:
            self._current.keep_alive = False

    def _refuse(self, status: int, message: str) -> None:
        if not self._closing:
            body = f'{{"message":"{message}"}}'.encode()
            self._transport.write(HttpResponse(status, body).encode(keep_alive=False))
            self._close()

    def _close(self) -> None:
        self._closing = True
        self._cancel_timer()
        self._transport.close()

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > HEADER_BYTES:
            raise _Refusal(431, f"the headers are longer than {HEADER_BYTES} bytes")

    def _wait(self, seconds: float) -> None:
        """Set the deadline. A timer that ends earlier stays: it sets itself again, so that requests need none."""
        loop = asyncio.get_running_loop()
        self._deadline = loop.time() + seconds
        if self._timer is None or self._timer.when() > self._deadline:
            self._cancel_timer()
            self._timer = loop.call_at(self._deadline, self._on_timer)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_timer(self) -> None:
        self._timer = None
        left = None if self._deadline is None else self._deadline - asyncio.get_running_loop().time()
        if left is None:
            return  # the service has the request: it has a deadline of its own
        if left > 0:
            self._wait(left)
        elif self._current is None and not self._request.target:
            self._close()  # nothing was begun: there is nobody to answer
        else:
            self._refuse(408, "the request took too long to arrive")


class _Refusal(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
