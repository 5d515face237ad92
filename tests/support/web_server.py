"""A web server in this process that misbehaves as instructed, file by file."""

from __future__ import annotations

import contextlib
import hashlib
import re
import threading
import time
import urllib.parse
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_CHUNK = 64 * 1024


@dataclass
class Manners:
    """How a file is served; correctly by default."""

    ranges: bool = True
    head: bool = True
    etag: bool = True
    length: bool = True
    cut_after: int | None = None
    """Each connection is cut after this many bytes of a body."""
    pause: float = 0.0
    """Seconds between chunks of the body."""
    chunk: int = _CHUNK
    claims: int = 0
    """Added to the true length in Content-Length."""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    redirect: str = ""
    statuses: list[int] = field(default_factory=list[int])
    """Statuses answered first, one after the other, before the file is served."""
    authorization: str = ""
    """The required Authorization header."""


@dataclass
class Seen:
    """A request as received."""

    method: str
    path: str
    headers: dict[str, str]


class WebServer:
    """The server. `files` and `manners` may be changed at any time; `seen` has all requests."""

    def __init__(self) -> None:
        self.files, self.manners, self.seen = dict[str, bytes](), dict[str, Manners](), list[Seen]()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def serve(self, name: str, data: bytes, **manners: Any) -> str:
        """Serve a file in this way from now on, and return its URL."""
        self.files[name], self.manners[name] = data, Manners(**manners)
        return f"{self.address}/{urllib.parse.quote(name)}"

    def asked(self, name: str, method: str = "GET") -> list[Seen]:
        return [one for one in self.seen if one.path == name and one.method == method]

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(_Handler):
            server_of = outer

        return Handler


class _Handler(BaseHTTPRequestHandler):
    server_of: WebServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: tests inspect `seen`."""

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):  # the client was killed
            super().handle()

    def do_HEAD(self) -> None:
        self._serve(body=False)

    def do_GET(self) -> None:
        self._serve(body=True)

    def _serve(self, body: bool) -> None:
        name = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path.lstrip("/"))
        self.server_of.seen.append(Seen(self.command, name, dict(self.headers.items())))
        manners = self.server_of.manners.get(name, Manners())
        if manners.statuses:
            self._plain(manners.statuses.pop(0))
        elif manners.redirect:
            self._plain(302, {"Location": manners.redirect})
        elif name not in self.server_of.files:
            self._plain(404)
        elif not body and not manners.head:
            self._plain(405)
        elif manners.authorization and self.headers.get("Authorization") != manners.authorization:
            self._plain(401)
        else:
            self._file(self.server_of.files[name], manners, body)

    def _plain(self, status: int, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": "0", **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()

    def _file(self, data: bytes, manners: Manners, body: bool) -> None:
        etag = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
        start, end = self._range(data, manners, etag)
        if start > len(data) or (start and start == len(data)):
            self._plain(416, {"Content-Range": f"bytes */{len(data)}"})
            return
        partial = (start, end) != (0, len(data))
        self.send_response(206 if partial else 200)
        if partial:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(data)}")
        if manners.etag:
            self.send_header("ETag", etag)
        if manners.length:
            self.send_header("Content-Length", str(end - start + manners.claims))
        else:
            self.close_connection = True
            self.send_header("Connection", "close")
        for name, value in manners.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self._body(data[start:end], manners)

    def _range(self, data: bytes, manners: Manners, etag: str) -> tuple[int, int]:
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        condition = self.headers.get("If-Range")
        if asked is None or not manners.ranges or (condition is not None and condition != etag):
            return 0, len(data)
        end = int(asked.group(2)) + 1 if asked.group(2) else len(data)
        return int(asked.group(1)), min(end, len(data))

    def _body(self, data: bytes, manners: Manners) -> None:
        cut = manners.cut_after is not None and len(data) > manners.cut_after
        data = data[: manners.cut_after] if cut else data
        try:
            for at in range(0, len(data), manners.chunk):
                self.wfile.write(data[at : at + manners.chunk])
                time.sleep(manners.pause)
        except OSError:  # the client has closed the connection
            self.close_connection = True
        if cut or manners.claims:
            self.close_connection = True
