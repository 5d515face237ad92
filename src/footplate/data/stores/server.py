"""A built-in datastore of a server on another machine, through the server's own API.

A small file is one request. A large one is sent in pieces, each at its offset: the server reports how much it has, so
an interrupted upload resumes there without notes of its own.
"""

from __future__ import annotations

import functools
import http.client
import json
import os
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from footplate import environ
from footplate.api import PREFIX
from footplate.api.store_files import StoreFilesApi
from footplate.backoff import Backoff, retry
from footplate.data.stores.base import SMALL, Children, Count, changed_source_error, fingerprint, ignore_count
from footplate.data.stores.http import PATIENCE_SECONDS, HttpStore, releasing
from footplate.data.stores.web_client import Web, WebResponse
from footplate.domain.data import StoredPart, StoreEntry, StoreSpec
from footplate.domain.store_names import check_name, clean_folder
from footplate.errors import Conflict, FootplateError, Unavailable, from_wire

_ATTEMPTS_WITHOUT_PROGRESS = 5
_PIECE = SMALL
T = TypeVar("T")


_AWAY_SECONDS = 2 * 3600.0
"""How long calls of scripts, and reads of mounted files, wait for a server that is away."""

_is_mount = False


def wait_as_mount() -> None:
    """Let the stores of this process, which serves a mount, wait for a server that is away."""
    global _is_mount
    _is_mount = True


def away_seconds() -> float:
    """Return how long a server may be away: not at all for users, nor for node agents, which repeat their calls."""
    is_job = environ.RUN_ID in os.environ or (_is_mount and environ.AGENT in os.environ)
    return _AWAY_SECONDS if is_job else 0.0


class ServerStore(HttpStore):
    """Reads as from any web server; lists and writes through the API. No proxy is used, as in the SDK."""

    writable = True

    def __init__(self, spec: StoreSpec, patience: float = PATIENCE_SECONDS) -> None:
        place = spec.location
        self._workspace, self._name = place["workspace"], place["datastore"]
        server = place["url"].rstrip("/")
        files = server + StoreFilesApi.url(self._workspace, self._name)
        super().__init__(StoreSpec("http", {"url": files}, spec.credentials), patience)
        self.spec = spec
        self._web = Web(f"Bearer {spec.credentials.get('token', '')}", patience, direct=True, away=away_seconds())
        self._files = StoreFilesApi(_WebTransport(self._web, server + PREFIX))

    def __repr__(self) -> str:
        return f"ServerStore({self.spec.location['url']!r}, {self._name!r})"

    # ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def list(self, prefix: str = "") -> Iterator[list[StoreEntry]]:
        """Yield the pages of one response: the server walks a directory of a million files once."""
        return self._files.list(self._workspace, self._name, clean_folder(prefix))

    def children(self, folder: str = "") -> Children:
        return Children(*self._files.children(self._workspace, self._name, clean_folder(folder)))

    def stat(self, path: str) -> StoreEntry:
        return self._files.stat(self._workspace, self._name, check_name(path))

    # ── writing ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def put(
        self, path: str, source: bytes | Path, *, if_absent: bool = False, count: Count = ignore_count, notes: str = ""
    ) -> StoreEntry:
        path = check_name(path)
        if isinstance(source, Path):
            info = os.stat(source)
            if info.st_size > _PIECE:
                return self._put_pieces(path, source, info, if_absent, count)
            source = source.read_bytes()
        data = source
        entry = _with_retries(lambda: self._files.put(self._workspace, self._name, path, data, if_absent=if_absent))
        count(len(data))
        return entry

    def _put_pieces(self, path: str, source: Path, info: os.stat_result, if_absent: bool, count: Count) -> StoreEntry:
        """Send the pieces that the server lacks. The last piece of a file that changed meanwhile is never sent."""
        upload = fingerprint(str(source.absolute()), path, str(info.st_size), str(info.st_mtime_ns))[:32]

        def send(piece: bytes, offset: int) -> StoredPart:
            return self._files.append(
                self._workspace, self._name, path, piece,
                upload=upload, offset=offset, size=info.st_size, if_absent=if_absent,
            )  # fmt: skip

        sent = _with_retries(lambda: send(b"", 0))
        count(sent.size)
        with open(source, "rb", buffering=0) as file:
            while sent.entry is None:  # it is set at once when this very file was uploaded before
                piece = os.pread(file.fileno(), min(_PIECE, info.st_size - sent.size), sent.size)
                now = os.stat(source)
                if not piece or (now.st_size, now.st_mtime_ns) != (info.st_size, info.st_mtime_ns):
                    raise changed_source_error(source)
                before = sent
                sent = _with_retries(functools.partial(_send_piece, send, piece, before.size))
                count(sent.size - before.size)
        return sent.entry

    def delete(self, path: str) -> None:
        _with_retries(lambda: self._files.delete(self._workspace, self._name, check_name(path)))


def _send_piece(send: Callable[[bytes, int], StoredPart], piece: bytes, offset: int) -> StoredPart:
    """Send a piece. A server whose machine restarted has less than it reported before, and answers how much."""
    try:
        return send(piece, offset)
    except Conflict as error:
        if not isinstance(error.details.get("size"), int):
            raise
        return StoredPart(error.details["size"], None)


def _with_retries(call: Callable[[], T]) -> T:
    """Retry a request that was cut off: every request is idempotent."""
    return retry(call, _ATTEMPTS_WITHOUT_PROGRESS, Backoff(0.2, 1.0), Unavailable)


class _WebReply:
    def __init__(self, body: bytes) -> None:
        self._body = body

    def json(self) -> Any:
        return json.loads(self._body or b"null")


class _WebTransport:
    """Requests of the API over the same connections as the files."""

    def __init__(self, web: Web, base: str) -> None:
        self._web = web
        self._base = base

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        json: Any = None,
        body: Any = None,
        timeout: float | None = None,
    ) -> _WebReply:
        with releasing(self._call(method, path, query, body)) as answer:
            return _WebReply(_read(answer.response.read))

    def stream(self, path: str, query: Mapping[str, Any] | None = None) -> Iterator[bytes]:
        with releasing(self._call("GET", path, query)) as answer:
            while piece := _read(answer.response.readline):
                yield piece

    def _call(
        self, method: str, path: str, query: Mapping[str, Any] | None = None, body: bytes | None = None
    ) -> WebResponse:
        parameters = {
            key: ("false", "true")[value] if isinstance(value, bool) else value
            for key, value in (query or {}).items()
            if value is not None
        }
        target = urllib.parse.quote(path, errors="surrogateescape")
        query_text = urllib.parse.urlencode(parameters, errors="surrogateescape")
        answer = self._web.request(method, f"{self._base}{target}?{query_text}", {}, body)
        if answer.status >= 300:
            with releasing(answer):
                raise self._error_of(answer)
        return answer

    def _error_of(self, answer: WebResponse) -> FootplateError:
        try:
            return from_wire(json.loads(_read(answer.response.read))["error"])
        except (ValueError, KeyError, TypeError):
            message = f"{self._base} answered with status {answer.status}, which is not how a Footplate server answers"
            return Unavailable(message, "check the server's address and any proxy in front of it")


def _read(read: Callable[[], bytes]) -> bytes:
    """Read a body. A truncated one is a network error, which is worth a retry."""
    try:
        return read()
    except (OSError, http.client.HTTPException) as error:
        message = f"the server's response was cut off ({error or type(error).__name__})"
        raise Unavailable(message, "check the network, then try again") from None
