"""The part of HTTP/1.1 over one socket that a client of our own server needs.

The standard library's `http.client` imports `ssl` and the e-mail package, which would slow the start of every job.
"""

from __future__ import annotations

import os
import select
import socket
from typing import BinaryIO, Dict, Iterator, Optional, Union, cast
from urllib.parse import quote, unquote, urlsplit

from footplate.errors import InvalidInput

Body = Union[bytes, bytearray, memoryview, BinaryIO]

_MAX_LINE = 65536
_MAX_HEADERS = 256
CHUNK = 1 << 18
SWITCHED = 101
"""The status of a response that is the last one: from here on the connection speaks another protocol."""


class WireError(Exception):
    """The connection broke, or the other side did not speak HTTP."""


class Endpoint:
    """The address of a server: a Unix socket (`host` is empty), or a host and port. `base` precedes every path."""

    def __init__(
        self, url: str, socket: str = "", host: str = "", port: int = 0, tls: bool = False, base: str = ""
    ) -> None:
        self.url = url
        self.socket = socket
        self.host = host
        self.port = port
        self.tls = tls
        self.base = base

    @property
    def host_header(self) -> str:
        if self.socket:
            return "localhost"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"


def unix_endpoint(path: str) -> str:
    return "unix://" + quote(path, errors="surrogateescape")


def parse_endpoint(url: str) -> Endpoint:
    """Parse `unix:///path`, `http://host:port` or `https://host`; a path in it precedes the path of every request."""
    hint = "use unix:///path/to/server.sock, http://host:port or https://host"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InvalidInput(f"{url!r} is not a server's address: {error}", hint) from None
    if url.startswith("unix:///"):
        return Endpoint(url, socket=unquote(url[len("unix://") :], errors="surrogateescape"))
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInput(f"{url!r} is not a server's address", hint)
    tls = parts.scheme == "https"
    return Endpoint(url, "", parts.hostname, port or (443 if tls else 80), tls, parts.path.rstrip("/"))


class Connection:
    """One connection, kept alive between requests. It carries one request at a time and belongs to one thread."""

    def __init__(self, endpoint: Endpoint, timeout: float) -> None:
        self.endpoint = endpoint
        self.pid = os.getpid()
        self.used = False  # a request has been answered on it
        self._socket = _dial(endpoint, timeout)
        self._reader = cast(BinaryIO, self._socket.makefile("rb", CHUNK))

    def is_stale(self) -> bool:
        """Tell whether the other side has closed the connection, or sent unexpected bytes, since the last response."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def close(self) -> None:
        self._reader.close()
        self._socket.close()

    def send(self, head: bytes, body: Optional[Body], length: int, timeout: float) -> None:
        self._socket.settimeout(timeout)
        if isinstance(body, (bytes, bytearray, memoryview)) and length <= CHUNK:
            self._socket.sendall(head + bytes(body))
            return
        self._socket.sendall(head)
        if isinstance(body, (bytes, bytearray, memoryview)):
            self._socket.sendall(body)
        elif body is not None:
            self._send_file(body, length)

    def _send_file(self, file: BinaryIO, length: int) -> None:
        """Send the next `length` bytes of a file, even if it grows meanwhile."""
        rest = length
        while rest:
            piece = file.read(min(CHUNK, rest))
            if not piece:
                raise InvalidInput(
                    f"the body is not {length} bytes long: it changed while it was read",
                    "send it again when nothing writes to it",
                )
            self._socket.sendall(piece)
            rest -= len(piece)

    def receive(self) -> Response:
        """Read the head of the response; its body is read through the returned object."""
        while True:
            status = self._status()
            headers = self._headers()
            if status >= 200 or status == SWITCHED:  # 100 Continue and other interim responses carry nothing
                return Response(self._reader, status, headers)

    def detach(self) -> socket.socket:
        """Return the socket, for another protocol than HTTP, in which the other side waits for our first byte."""
        self._reader.close()
        return self._socket

    def _status(self) -> int:
        line = self._line()
        parts = line.split(None, 2)
        if len(parts) < 2 or not parts[0].startswith(b"HTTP/1.") or not parts[1].isdigit():
            raise WireError("the connection was closed" if not line else f"this is not HTTP: {line[:80]!r}")
        return int(parts[1])

    def _headers(self) -> Dict[str, str]:
        headers: Dict[str, str] = {}
        for _ in range(_MAX_HEADERS):
            line = self._line()
            if line in (b"\r\n", b"\n"):
                return headers
            name, colon, value = line.partition(b":")
            if not colon:
                raise WireError("the connection was closed inside the headers")
            headers[name.decode("latin-1").lower()] = value.strip().decode("latin-1")
        raise WireError(f"more than {_MAX_HEADERS} headers")

    def _line(self) -> bytes:
        line = self._reader.readline(_MAX_LINE)
        if len(line) == _MAX_LINE:
            raise WireError(f"a header of more than {_MAX_LINE} bytes")
        return line


class Response:
    def __init__(self, reader: BinaryIO, status: int, headers: Dict[str, str]) -> None:
        self.status = status
        self.headers = headers
        self._reader = reader

    @property
    def keeps_alive(self) -> bool:
        """Tell whether the connection can carry another request after the body has been read to its end."""
        framed = "content-length" in self.headers or "transfer-encoding" in self.headers or self.status in (204, 304)
        return framed and self.headers.get("connection", "").lower() != "close"

    def pieces(self) -> Iterator[bytes]:
        """Yield the body as it arrives. A body that ends before its announced length is a WireError."""
        if self.status in (204, 304):
            return iter(())
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            return self._read_chunks()
        length = self.headers.get("content-length")
        if length is None:
            return iter(lambda: self._reader.read(CHUNK), b"")
        if not length.isdigit():
            raise WireError(f"content-length is {length!r}")
        return self._read_exactly(int(length))

    def read(self) -> bytes:
        return b"".join(self.pieces())

    def _read_exactly(self, length: int) -> Iterator[bytes]:
        while length:
            piece = self._reader.read(min(CHUNK, length))
            if not piece:
                raise WireError(f"the connection was closed {length} bytes before the end of the response")
            length -= len(piece)
            yield piece

    def _read_chunks(self) -> Iterator[bytes]:
        while True:
            line = self._reader.readline(_MAX_LINE)
            try:
                size = int(line.split(b";", 1)[0], 16)
            except ValueError:
                raise WireError("the connection was closed before the end of the response") from None
            if size == 0:
                break
            yield from self._read_exactly(size)
            self._reader.readline(_MAX_LINE)
        while self._reader.readline(_MAX_LINE) not in (b"\r\n", b"\n", b""):
            pass  # trailers


def _dial(endpoint: Endpoint, timeout: float) -> socket.socket:
    if endpoint.socket:
        plain = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            plain.settimeout(timeout)
            plain.connect(endpoint.socket)
        except BaseException:
            plain.close()
            raise
        return plain
    plain = socket.create_connection((endpoint.host, endpoint.port), timeout)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if not endpoint.tls:
        return plain
    from footplate.api.tls import server_context  # noqa: PLC0415  # lazy: only a team server behind TLS needs it

    try:
        return server_context().wrap_socket(plain, server_hostname=endpoint.host)
    except BaseException:
        plain.close()
        raise
