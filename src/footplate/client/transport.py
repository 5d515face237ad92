"""Requests to a server: JSON and bytes over HTTP, retried until they are answered.

Every request of the API is idempotent, so a broken one is sent again: at once if a kept-alive connection turned out to
be closed, with growing pauses if the server does not answer.
"""

from __future__ import annotations

import contextlib
import errno
import json as json_module
import math
import os
import socket
import threading
import time
from typing import Any, Callable, Dict, Generator, Iterator, List, Mapping, Optional, Sequence, Union, cast
from urllib.parse import quote

from footplate.api import PREFIX
from footplate.backoff import Backoff
from footplate.client.http import SWITCHED, Body, Connection, Endpoint, Response, WireError, parse_endpoint
from footplate.errors import Broken, FootplateError, InvalidInput, NotAllowed, Unavailable, from_wire

Query = Mapping[str, Union[str, int, float, bool, Sequence[Any], None]]

TIMEOUT = 60.0
"""Seconds of silence after which a request fails; the `wait` of a long poll is added."""

PATIENCE = 30.0
"""Seconds during which a server that does not answer is retried, counted from the first failure."""

JOB_PATIENCE = 2 * 3600.0
"""The same inside a job whose server is on another machine, and may be away for an hour."""

STRANGER_PATIENCE = 2.0
"""The same for an address where nothing listens or has ever listened: it is probably wrong."""

UNTRUSTED = "untrusted"
"""Detail of the error about a server whose certificate is not trusted and never was."""

_GONE = (errno.ENOENT, errno.ECONNREFUSED, errno.ENOTSOCK)


class ApiResponse:
    def __init__(self, status: int, headers: Dict[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    def json(self) -> Any:
        return json_module.loads(self.body) if self.body else None


class _Lost(Exception):
    """No response arrived. `now`: retry at once; `gone`: nothing listens there any more."""

    def __init__(self, reason: str, now: bool = False, gone: bool = False, untrusted: bool = False) -> None:
        super().__init__(reason)
        self.untrusted = untrusted
        self.now = now
        self.gone = gone


class _Retry:
    """The retries of one request: when to try again, and when to give up."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._since: Optional[float] = None
        self._backoff = Backoff(0.01, 1.0, jitter=0.5)

    def is_exhausted(self, at_most: float = math.inf) -> bool:
        now = time.monotonic()
        if self._since is None:
            self._since = now
        return now >= self._since + min(self._patience, at_most)

    def pause(self) -> None:
        self._backoff.wait()


class Transport:
    """A connection to one server. Threads may share it, and it survives a fork: each gets its own socket.

    `starter` restarts the server when nothing listens, and returns its endpoint. Paths are readable API paths without
    the prefix (`/runs/x/files/a b.txt`); they are prefixed and quoted here. `is_known`: the address is right, whether
    something listens there now or not.
    """

    def __init__(
        self,
        endpoint: str,
        token: Optional[str] = None,
        starter: Optional[Callable[[], str]] = None,
        patience: float = PATIENCE,
        is_known: bool = False,
    ) -> None:
        self._target = parse_endpoint(endpoint)
        self._is_known = is_known or starter is not None
        self._starter = starter
        self._patience = patience
        self._local = threading.local()
        self._meanwhile: Optional[Callable[[], object]] = None
        self._token = _check_token(token)

    @property
    def endpoint(self) -> str:
        return self._target.url

    @property
    def token(self) -> Optional[str]:
        return self._token

    @property
    def is_local(self) -> bool:
        """Tell whether the server is on this machine and trusts us by the mode of its socket."""
        return bool(self._target.socket)

    # ── Requests ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Query] = None,
        json: Any = None,
        body: Optional[Body] = None,
        timeout: Optional[float] = None,
    ) -> ApiResponse:
        """Send a request, read the whole response, and raise the error that it reports.

        `body`: bytes, or an open binary file (from its position). `timeout`: seconds of silence; by default the query's
        `wait` is added.
        """
        content = _Content(json, body)
        target = _target(path, query)
        patience = _timeout(query, timeout)
        retry = _Retry(self._patience)
        while True:
            try:
                return self._exchange(method, target, content, patience)
            except _Lost as lost:
                self._recover(lost, retry)
            except Unavailable:  # it has a problem of its own, such as a database that restarts
                if retry.is_exhausted():
                    raise
                retry.pause()
            content.rewind()

    def stream(self, path: str, query: Optional[Query] = None, *, timeout: Optional[float] = None) -> Iterator[bytes]:
        """Yield the bytes of a file, piece by piece, on a connection of its own.

        Downloaded content never changes (it may only grow), so a broken download resumes where it stopped.
        """
        target = _target(path, query)
        patience = _timeout(query, timeout)
        retry = _Retry(self._patience)
        done = 0
        while True:
            try:
                skip = done
                for piece in self._download(target, patience):
                    fresh = piece[skip:]
                    skip = max(0, skip - len(piece))
                    if fresh:
                        done += len(fresh)
                        yield fresh
                        retry = _Retry(self._patience)
                return
            except _Lost as lost:
                self._recover(lost, retry)

    def upgrade(
        self, path: str, protocol: str, query: Optional[Query] = None, *, timeout: float = TIMEOUT
    ) -> socket.socket:
        """Open a connection that speaks another protocol than HTTP; its socket has the timeout.

        It is tried once: the caller also has to open it again when it breaks.
        """
        extra = ("Connection: Upgrade", f"Upgrade: {protocol}")
        try:
            connection = self._dial(timeout)
            try:
                connection.send(self._head("POST", _target(path, query), _NOTHING, extra), None, 0, timeout)
                response = connection.receive()
                if response.status == SWITCHED:
                    return connection.detach()
                answer = ApiResponse(response.status, response.headers, response.read())
            except BaseException:
                connection.close()
                raise
            connection.close()
            _refuse(answer, self._target)
        except (OSError, WireError, _Lost) as error:
            raise Unavailable(f"the server at {self.endpoint} does not answer: {_words(error)}", self._hint()) from None
        raise Broken(f"the server answered {answer.status} to a request for {protocol}", "check its version")

    @contextlib.contextmanager
    def working_meanwhile(self, work: Callable[[], object]) -> Generator[None, None, None]:
        """Call `work` whenever a request has been sent and its response has yet to be read."""
        self._meanwhile = work
        try:
            yield
        finally:
            self._meanwhile = None

    def close(self) -> None:
        """Close this thread's connection; the next request opens another."""
        connection: Optional[Connection] = getattr(self._local, "connection", None)
        self._local.connection = None
        if connection is not None:
            connection.close()

    # ── One try ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _exchange(self, method: str, target: str, content: _Content, timeout: float) -> ApiResponse:
        connection = self._connection(timeout)
        try:
            response = self._ask(connection, method, target, content, timeout)
            answer = ApiResponse(response.status, response.headers, response.read())
        except (OSError, WireError) as error:
            self.close()
            raise _Lost(_words(error), now=connection.used) from None
        except BaseException:  # for example Ctrl-C: the next request must not read half a response
            self.close()
            raise
        connection.used = True
        if not response.keeps_alive:
            self.close()
        _refuse(answer, self._target)
        return answer

    def _download(self, target: str, timeout: float) -> Iterator[bytes]:
        connection = self._dial(timeout)
        try:
            response = self._ask(connection, "GET", target, _NOTHING, timeout)
            if response.status >= 400:
                _refuse(ApiResponse(response.status, response.headers, response.read()), self._target)
            yield from response.pieces()
        except (OSError, WireError) as error:
            raise _Lost(_words(error)) from None
        finally:
            connection.close()

    def _ask(self, connection: Connection, method: str, target: str, content: _Content, timeout: float) -> Response:
        head = self._head(method, target, content)
        try:
            connection.send(head, content.body, content.length, timeout)
        except (BrokenPipeError, ConnectionResetError):
            # A server that refuses an upload responds and closes the connection without reading the body.
            return connection.receive()
        if self._meanwhile is not None:
            self._meanwhile()
        return connection.receive()

    def _head(self, method: str, target: str, content: _Content, extra: Sequence[str] = ()) -> bytes:
        lines = [
            f"{method} {self._target.base}{target} HTTP/1.1",
            f"Host: {self._target.host_header}",
            *extra,
        ]
        if self._token:
            lines.append(f"Authorization: Bearer {self._token}")
        if content.body is not None:
            lines.append(f"Content-Type: {content.type}")
        if content.body is not None or method in ("POST", "PUT", "PATCH"):
            lines.append(f"Content-Length: {content.length}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")

    def _connection(self, timeout: float) -> Connection:
        connection: Optional[Connection] = getattr(self._local, "connection", None)
        if connection is not None:
            # After a fork both processes hold the same connection; only the one that opened it may use it.
            if connection.pid == os.getpid() and connection.endpoint is self._target and not connection.is_stale():
                return connection
            self.close()
        connection = self._local.connection = self._dial(timeout)
        return connection

    def _dial(self, timeout: float) -> Connection:
        try:
            connection = Connection(self._target, min(timeout, TIMEOUT))
        except OSError as error:
            is_gone = error.errno in _GONE or isinstance(error, socket.gaierror)
            untrusted = type(error).__name__ == "SSLCertVerificationError"  # its module is imported only for TLS
            raise _Lost(_words(error), gone=is_gone, untrusted=untrusted) from None
        self._is_known = True
        return connection

    # ── After a failure ───────────────────────────────────────────────────────────────────────────────────────────────

    def _recover(self, lost: _Lost, retry: _Retry) -> None:
        if lost.now:
            return
        if lost.untrusted and not self._is_known:
            message = f"the certificate of the server at {self.endpoint} is not trusted: {lost}"
            hint = "name the authority that signed it: SSL_CERT_FILE=/path/to/ca.pem; for nodes: server --ca-file"
            raise Unavailable(message, hint, **{UNTRUSTED: True}) from None
        if retry.is_exhausted(STRANGER_PATIENCE if lost.gone and not self._is_known else math.inf):
            raise Unavailable(f"the server at {self.endpoint} does not answer: {lost}", self._hint()) from None
        retry.pause()
        if lost.gone and self._starter is not None:
            self._target = parse_endpoint(self._starter())

    def _hint(self) -> str:
        if self.is_local:
            return "see what it says with: footplate server logs; start it with: footplate server start"
        return "check the address and that the server runs there (footplate server --host … --port …)"


class _Content:
    """The body of a request, which can be sent again, and its length."""

    def __init__(self, json: Any, body: Optional[Body]) -> None:
        self.type = "application/octet-stream" if json is None else "application/json"
        self.body = body if json is None else _encode(json)
        self._start = 0
        if self.body is None:
            self.length = 0
        elif isinstance(self.body, (bytes, bytearray, memoryview)):
            self.length = memoryview(self.body).nbytes
        else:
            self._start = self.body.tell()
            self.length = self.body.seek(0, os.SEEK_END) - self._start
            self.rewind()

    def rewind(self) -> None:
        """Prepare for a retry."""
        if not isinstance(self.body, (bytes, bytearray, memoryview, type(None))):
            self.body.seek(self._start)


_NOTHING = _Content(None, None)


def _encode(value: Any) -> bytes:
    try:
        return json_module.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")
    except (TypeError, ValueError) as error:
        words = ", ".join(_infinite(value)) or str(error)
        message = f"this cannot be sent as JSON: {words}"
        raise InvalidInput(message, "send finite numbers, strings, lists and objects") from None


def _infinite(value: Any, name: str = "", within: Sequence[int] = ()) -> Iterator[str]:
    """Yield the names and values of the numbers that JSON does not have."""
    if id(value) in within:
        return
    if isinstance(value, float) and not math.isfinite(value):
        yield f"{name} is {value}"
    elif isinstance(value, (dict, list, tuple)):
        container = cast("Any", value)
        for key, item in container.items() if isinstance(value, dict) else enumerate(container):
            yield from _infinite(item, f"{name}.{key}" if name else str(key), (*within, id(container)))


def _target(path: str, query: Optional[Query]) -> str:
    target = PREFIX + quote(path, safe="/:@!$'()*+,;=~", errors="surrogateescape")
    pairs = list(_pairs(query or {}))
    return target + ("?" + "&".join(pairs) if pairs else "")


def _pairs(query: Query) -> Iterator[str]:
    """Return query pairs: None is left out, and a list repeats its key."""
    for key, value in query.items():
        values: List[Any] = list(value) if isinstance(value, (list, tuple)) else [value]
        for item in values:
            if item is not None:
                text = ("false", "true")[item] if isinstance(item, bool) else str(item)
                yield f"{quote(key, safe='')}={quote(text, safe='', errors='surrogateescape')}"


def _timeout(query: Optional[Query], timeout: Optional[float]) -> float:
    wait = (query or {}).get("wait")
    return timeout if timeout is not None else TIMEOUT + (float(wait) if isinstance(wait, (int, float)) else 0.0)


def _check_token(token: Optional[str]) -> Optional[str]:
    if token is not None and (not token.isascii() or not token.isprintable() or " " in token):
        raise NotAllowed(
            "the token holds characters that no token has", "look at FOOTPLATE_TOKEN: is it cut or quoted?"
        )
    return token or None


def _refuse(answer: ApiResponse, endpoint: Endpoint) -> None:
    """Raise the error of a response with status 400 or more; a server that is about to stop counts as unreachable."""
    if answer.status < 400:
        return
    error = _error_of(answer)
    if error is None:
        kind = Unavailable if answer.status in (502, 503, 504) else Broken
        text = answer.body[:200].decode("utf-8", "replace").strip()
        raise kind(
            f"{endpoint.url} answered {answer.status} and not as a Footplate server does: {text!r}",
            "check the address, and what stands between you and the server",
        )
    if error.details.get("stopping"):
        raise _Lost(error.message)
    raise error


def _error_of(answer: ApiResponse) -> Optional[FootplateError]:
    try:
        return from_wire(answer.json()["error"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _words(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
