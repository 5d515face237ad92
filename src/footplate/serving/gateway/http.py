"""HTTP/1.1 on the front side: parsed by httptools, one request of a connection at a time, and bounded in every way.

Headers decide whether a body is read at all. What has arrived of further requests is not parsed before the answers to
the first ones are written, and nothing is read while the client does not read, or while the gateway's memory is full. A
client that sends or reads slowly costs one idle connection and nothing else; one that is too slow, sends too much, or
does not speak HTTP at all is answered in its turn and disconnected.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, cast

import httptools

from footplate.serving.gateway.memory import SLOWEST, Memory, SharedBuffer

HEADER_BYTES = 64 * 1024
HEADER_SECONDS = 10.0
BODY_SECONDS = 60.0
IDLE_SECONDS = 75.0
READ_SECONDS = 30.0
"""How long a client may take to read an answer, beside the time that the slowest speed allows."""

MEMORY_SECONDS = 10.0
LINGER_SECONDS = 2.0
_HEADER_OVERHEAD = 32  # of each header in memory, so that many small ones are bounded, too
_SLICE = 8 * 1024  # parsed at once: so few requests that are pipelined take memory
_IGNORED_BODY = 64 * 1024
_LARGE = 64 * 1024
_WITHOUT_BODY = (204, 304)
_REASONS = {status.value: status.phrase for status in HTTPStatus}


class HttpResponse(NamedTuple):
    """One response to a request."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = MappingProxyType({})

    def encode(self, keep_alive: bool, head: bool = False) -> list[bytes]:
        """Return the response in pieces: a large body is not copied."""
        is_empty = self.status in _WITHOUT_BODY  # clients would take a body for the next response
        lines = [
            f"HTTP/1.1 {self.status} {_REASONS.get(self.status, '')}",
            *(() if is_empty else (f"content-type: {self.content_type}", f"content-length: {len(self.body)}")),
            *(f"{name}: {value}" for name, value in self.headers.items()),
            "connection: keep-alive" if keep_alive else "connection: close",
            "\r\n",
        ]
        encoded = "\r\n".join(lines).encode("latin-1", "replace")
        if head or is_empty:
            return [encoded]
        return [encoded, self.body] if len(self.body) > _LARGE else [encoded + self.body]


@dataclass(eq=False)
class HttpRequest:
    """One request of a client."""

    method: str = ""
    target: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    keep_alive: bool = True
    size: int = 0  # bytes of memory
    response: HttpResponse | None = None  # known before the body


_NO_REQUEST = HttpRequest()
Respond = Callable[[HttpResponse], None]


class Application(Protocol):
    """Whatever answers requests."""

    def admit(self, request: HttpRequest) -> HttpResponse | int:
        """Decide by method, target and headers: return the answer, or how long a body may be."""
        ...

    def handle(self, request: HttpRequest, respond: Respond) -> None:
        """Answer a request that was admitted: now or later, once."""
        ...


class HttpConnection(SharedBuffer):
    """One connection of a client."""

    def __init__(self, application: Application, connections: set[HttpConnection], memory: Memory) -> None:
        self._application = application
        self._connections = connections
        self._memory = memory
        self._loop = asyncio.get_running_loop()  # to ask for it costs a system call
        self._transport = cast("asyncio.Transport", None)
        self._parser: Any = httptools.HttpRequestParser(self)
        self._request = HttpRequest()  # that arrives
        self._is_arriving = False
        self._expects = False  # its client waits until it may send the body
        self._parts: list[bytes] = []
        self._size = self._limit = self._left = 0
        self._unparsed = b""
        self._waiting: deque[HttpRequest] = deque()
        self._current: HttpRequest | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._deadline: float | None = None
        self._is_parsing = self._is_paused = False
        self._is_unread = False  # the client has not read what is written
        self._waits_for_memory = False
        self._is_deaf = False  # nothing of what still arrives is a request
        self._closing = False

    # ── Called by asyncio ─────────────────────────────────────────────────────────────────────────────────────────────

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=1)  # with 0, TLS waits for a client that has read everything
        self._connections.add(self)
        self._wait(HEADER_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self._closing = True
        self._cancel_timer()
        self._memory.forget(self)
        self._memory.give_back(len(self._unparsed))
        self._unparsed = b""
        if self._is_arriving:
            self._release(self._request)
        for request in self._waiting:  # the service still has the current one
            self._release(request)
        self._waiting.clear()
        self._parts.clear()
        self._parser = None  # it refers to this object: both would wait for the collector of cycles

    def data_received(self, data: bytes) -> None:
        if self._closing or self._is_deaf:
            return
        if self._unparsed or self._is_paused:  # TLS may still deliver what it had
            self._unparsed += data
            self._memory.take(len(data))
        else:
            self._parse(data)

    def pause_writing(self) -> None:
        self._is_unread = True

    def resume_writing(self) -> None:
        self._is_unread = False
        self._memory.forget(self)
        if not self._closing and self._current is None:
            self._begin_next()

    @property
    def unread(self) -> int:
        return self._transport.get_write_buffer_size()

    def abort(self) -> None:
        self._transport.abort()

    # ── Parsing ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _parse(self, data: bytes) -> None:
        """Parse what has arrived, until something has to wait: the rest of a body at once, the rest in slices."""
        start, self._is_parsing = 0, True
        while start < len(data) and not (self._closing or self._is_deaf or self._is_paused):
            size = max(_SLICE, self._left)
            self._feed(data if not start and len(data) <= size else data[start : start + size])
            start += size
            if self._is_arriving and self._memory.is_full and not self._is_deaf:
                self._wait_for_memory()
        self._is_parsing = False
        if start < len(data) and not (self._closing or self._is_deaf):
            self._unparsed = data[start:]
            self._memory.take(len(self._unparsed))

    def _feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # it is answered as if it had not asked; see on_headers_complete
        except httptools.HttpParserError as error:
            cause = error.__context__
            refusal = cause if isinstance(cause, _Refusal) else _Refusal(400, "the request is not HTTP/1.1")
            self._refuse(refusal.status, refusal.message)
        except _Refusal as refusal:
            self._refuse(refusal.status, refusal.message)

    def on_message_begin(self) -> None:
        self._request = HttpRequest()
        self._is_arriving = True
        self._expects = False
        self._parts = []
        self._size = self._limit = self._left = 0
        self._wait(HEADER_SECONDS)

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        self._request.target += url.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + _HEADER_OVERHEAD)
        self._request.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        request = self._request
        headers = request.headers
        request.method = self._parser.get_method().decode("latin-1")
        announced = int(headers["content-length"]) if headers.get("content-length", "").isdigit() else 0
        has_body = announced > 0 or "transfer-encoding" in headers
        if self._parser.should_upgrade():
            if request.method == "CONNECT" or has_body:
                raise _Refusal(405 if request.method == "CONNECT" else 400, "this server does not change protocols")
            request.keep_alive = False
        self._hold(self._size)
        self._size = 0
        self._left = announced
        admitted = self._application.admit(request)
        if isinstance(admitted, HttpResponse):
            request.response, self._limit = admitted, _IGNORED_BODY
            if announced > _IGNORED_BODY or (has_body and ("transfer-encoding" in headers or "expect" in headers)):
                self._answer_early(request)
                return
        else:
            self._limit = admitted
        if announced > self._limit:
            raise _Refusal(413, f"the body is {announced} bytes long, and at most {self._limit} are allowed")
        self._expects = headers.get("expect", "").lower() == "100-continue"
        self._continue()
        self._wait(BODY_SECONDS)

    def on_body(self, body: bytes) -> None:
        self._size += len(body)
        self._left = max(0, self._left - len(body))
        if self._is_deaf or self._request.response is not None:
            return
        if self._size > self._limit:
            raise _Refusal(413, f"the body is longer than {self._limit} bytes")
        self._hold(len(body))
        self._parts.append(body)

    def on_message_complete(self) -> None:
        if self._is_deaf:
            return
        request = self._request
        request.body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._is_arriving = False
        self._request = _NO_REQUEST
        self._parts = []  # an idle connection keeps no body
        request.keep_alive = request.keep_alive and self._parser.should_keep_alive()
        self._is_deaf = not request.keep_alive
        self._enqueue(request)

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > HEADER_BYTES:
            raise _Refusal(431, f"the headers are longer than {HEADER_BYTES} bytes")

    def _continue(self) -> None:
        """Ask for the body, if the client waits for that, when the answers before it are written."""
        if self._expects and self._current is None and not self._waiting:
            self._expects = False
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    # ── One request at a time ─────────────────────────────────────────────────────────────────────────────────────────

    def _enqueue(self, request: HttpRequest) -> None:
        if self._current is None and not self._waiting and not self._is_unread:
            self._begin(request)
        else:
            self._waiting.append(request)
            self._read_or_not()

    def _begin(self, request: HttpRequest) -> None:
        self._current = request
        self._deadline = None
        if self._closing:
            self._respond(HttpResponse(503))  # to nobody
        elif request.response is not None:
            self._respond(request.response)
        else:
            self._application.handle(request, self._respond)

    def _respond(self, response: HttpResponse) -> None:
        request, self._current = self._current, None
        if request is not None:
            self._release(request)
        if self._closing or request is None:
            return
        for piece in response.encode(request.keep_alive, request.method == "HEAD"):
            self._transport.write(piece)
        if self._is_unread:
            self._memory.forget(self)
            self._memory.remember(self)
            self._wait(READ_SECONDS + self.unread / SLOWEST)
            self._read_or_not()
        if not request.keep_alive:
            self._close()
        elif not self._is_unread:
            self._begin_next()

    def _begin_next(self) -> None:
        """Go on with the next request when a response is written."""
        if self._waiting:
            # Not from here: a service that answers at once would go deeper with every pipelined request.
            self._current = self._waiting.popleft()
            self._loop.call_soon(self._begin, self._current)
        else:
            self._wait(BODY_SECONDS if self._is_arriving else IDLE_SECONDS)
            self._continue()
        self._read_or_not()

    def _read_or_not(self) -> None:
        """Read only if somebody takes what arrives."""
        pauses = bool(self._waiting) or self._is_unread or self._waits_for_memory
        if pauses == self._is_paused or self._closing:
            return
        self._is_paused = pauses
        if pauses:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()
            if self._unparsed and not self._is_parsing:
                self._loop.call_soon(self._parse_rest)

    def _parse_rest(self) -> None:
        data, self._unparsed = self._unparsed, b""
        self._memory.give_back(len(data))
        self._parse(data)

    def _hold(self, size: int) -> None:
        self._request.size += size
        self._memory.take(size)

    def _release(self, request: HttpRequest) -> None:
        self._memory.give_back(request.size)
        request.size = 0

    def _wait_for_memory(self) -> None:
        if not self._waits_for_memory:
            self._waits_for_memory = True
            self._wait(MEMORY_SECONDS)
            self._read_or_not()
        self._memory.wait(self._go_on)

    def _go_on(self) -> None:
        self._waits_for_memory = False
        if self._is_arriving and not self._closing:
            self._wait(BODY_SECONDS)
        self._read_or_not()

    # ── The end ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def shut_down(self) -> None:
        """Close when the request in hand is answered."""
        if self._current is None:
            self._close()
        else:
            self._current.keep_alive = False

    def _refuse(self, status: int, message: str) -> None:
        """Answer what is no good request in its turn, and disconnect."""
        retry = {"retry-after": "1"} if status == 503 else {}
        request = self._request if self._is_arriving else HttpRequest()
        request.response = HttpResponse(status, f'{{"message":"{message}"}}'.encode(), headers=retry)
        self._answer_early(request)

    def _answer_early(self, request: HttpRequest) -> None:
        """Answer before the body is read, and do not read it."""
        self._release(request)
        self._parts.clear()
        request.keep_alive, self._is_deaf, self._is_arriving = False, True, False
        self._enqueue(request)

    def _close(self) -> None:
        """Disconnect. A client that is still sending would lose the answer if that were not read."""
        self._closing = True
        if self._is_deaf and self._transport.can_write_eof():
            self._transport.write_eof()
            self._transport.resume_reading()
            self._wait(LINGER_SECONDS + (READ_SECONDS + self.unread / SLOWEST if self.unread else 0))
        else:
            self._transport.close()

    def _wait(self, seconds: float) -> None:
        """Set the deadline. A timer that ends earlier stays: it sets itself again, so that requests need none."""
        self._deadline = self._loop.time() + seconds
        if self._timer is None or self._timer.when() > self._deadline:
            self._cancel_timer()
            self._timer = self._loop.call_at(self._deadline, self._on_timer)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_timer(self) -> None:
        self._timer = None
        if self._deadline is None:
            return  # the service has the request: it has a deadline of its own
        remaining = self._deadline - self._loop.time()
        if remaining > 0:
            self._wait(remaining)
        elif self._closing or self._is_unread:
            self.abort()
        elif self._current is not None:
            self._wait(BODY_SECONDS)  # the next request has time until this one is answered
        elif self._waits_for_memory:
            self._refuse(503, "the gateway has no memory for this request now")
        elif self._is_arriving:
            self._refuse(408, "the request took too long to arrive")
        else:
            self._transport.close()  # nothing was begun: there is nobody to answer


class _Refusal(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
