"""A built-in datastore of a server on another machine: its files over the server's own API.

A small file is one request. A large one goes by pieces, each at its offset: the server says how much of it has come,
so an upload that was cut, by whatever, goes on there and needs no notes of its own.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import time
import urllib.parse
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from footplate.data.stores.base import SMALL, Children, Count
from footplate.data.stores.http import PATIENCE_SECONDS, HttpStore, giving_back
from footplate.data.stores.web_client import Web, WebResponse
from footplate.domain.data import StoreEntry, StoreSpec
from footplate.domain.store_names import check_name, clean_folder
from footplate.errors import Conflict, FootplateError, Unavailable, from_wire

_API = "/api/v1"
_ATTEMPTS_WITHOUT_PROGRESS = 5
_PAUSE = 0.2
_PIECE = SMALL


class ServerStore(HttpStore):
    """Reads as any web server is read; lists and writes besides. No proxy is asked: the SDK asks none either."""

    writable = True

    def __init__(self, spec: StoreSpec, limit: int | None = None, patience: float = PATIENCE_SECONDS) -> None:
        place = spec.location
        below = f"/workspaces/{_quoted(place['workspace'])}/datastores/{_quoted(place['datastore'])}/files"
        reading = StoreSpec("http", {"url": place["url"].rstrip("/") + _API + below}, spec.credentials)
        super().__init__(reading, limit, patience)
        self.spec = spec
        self._web = Web(f"Bearer {spec.credentials.get('token', '')}", patience, direct=True)

    def __repr__(self) -> str:
        return f"ServerStore({self.spec.location['url']!r}, {self.spec.location['datastore']!r})"

    # ── looking ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def list(self, prefix: str = "") -> Iterator[list[StoreEntry]]:
        """One answer, a line for every page and their number at the end: a folder of a million files is walked once."""
        with giving_back(self._call("GET", None, {"prefix": clean_folder(prefix)})) as answer:
            while isinstance(page := json.loads(_next_line(answer)), list):
                yield [_entry(fields) for fields in cast("list[Any]", page)]

    def children(self, folder: str = "") -> Children:
        found = self._json("GET", None, {"prefix": clean_folder(folder), "children": "true"})
        return Children([str(name) for name in found["folders"]], [_entry(fields) for fields in found["files"]])

    def stat(self, path: str) -> StoreEntry:
        return _entry(self._json("GET", path, {"stat": "true"}))

    # ── writing ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def put(
        self,
        path: str,
        source: bytes | Path,
        *,
        if_absent: bool = False,
        count: Count | None = None,
        notes: str | None = None,
    ) -> StoreEntry:
        count = count or (lambda _: None)
        more = {"if_absent": "true"} if if_absent else {}
        if isinstance(source, Path):
            info = os.stat(source)
            if info.st_size > _PIECE:
                return self._put_pieces(path, source, info, more, count)
            source = source.read_bytes()
        entry = _entry(self._insist("PUT", path, more, source)["entry"])
        count(len(source))
        return entry

    def _put_pieces(
        self, path: str, source: Path, info: os.stat_result, more: Mapping[str, str], count: Count
    ) -> StoreEntry:
        """From where the server is; the last piece is not sent of a file that was changed meanwhile."""
        known = "\0".join((str(source.absolute()), path, str(info.st_size), str(info.st_mtime_ns)))
        upload = hashlib.sha256(known.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        about = {**more, "upload": upload, "size": str(info.st_size)}
        begun = self._insist("PUT", path, {**about, "offset": "0"}, b"")
        at = int(begun["size"])
        count(at)
        if begun["entry"] is not None:  # this very file came whole before
            return _entry(begun["entry"])
        with open(source, "rb", buffering=0) as file:
            while True:
                piece = os.pread(file.fileno(), min(_PIECE, info.st_size - at), at)
                now = os.stat(source)
                if not piece or (now.st_size, now.st_mtime_ns) != (info.st_size, info.st_mtime_ns):
                    raise Conflict(f"{source} was changed while it was sent", "send it again when nobody writes to it")
                answer = self._send_piece(path, {**about, "offset": str(at)}, piece)
                count(int(answer["size"]) - at)
                at = int(answer["size"])
                if answer["entry"] is not None:
                    return _entry(answer["entry"])

    def _send_piece(self, path: str, about: Mapping[str, str], piece: bytes) -> Any:
        """A server that has less than it said, because its machine was started anew, says how much that is."""
        try:
            return self._insist("PUT", path, about, piece)
        except Conflict as error:
            if not isinstance(error.details.get("size"), int):
                raise
            return {"size": error.details["size"], "entry": None}

    def delete(self, path: str) -> None:
        self._insist("DELETE", path, {}, b"")

    # ── asking ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _insist(self, method: str, path: str, query: Mapping[str, str], body: bytes) -> Any:
        """Every request may be repeated, so one that was cut is."""
        for attempt in range(1, _ATTEMPTS_WITHOUT_PROGRESS):
            try:
                return self._json(method, path, query, body)
            except Unavailable:
                time.sleep(_PAUSE * attempt)
        return self._json(method, path, query, body)

    def _json(self, method: str, path: str | None, query: Mapping[str, str], body: bytes | None = None) -> Any:
        with giving_back(self._call(method, path, query, body)) as answer:
            return json.loads(_whole(answer) or b"null")

    def _call(self, method: str, path: str | None, query: Mapping[str, str], body: bytes | None = None) -> WebResponse:
        url = self._base if path is None else self._url(path)
        asked = urllib.parse.urlencode(query, errors="surrogateescape")
        answer = self._web.request(method, f"{url}?{asked}", {}, body)
        if answer.status >= 300:
            with giving_back(answer):
                raise self._refusal(answer)
        return answer

    def _refusal(self, answer: WebResponse) -> FootplateError:
        try:
            return from_wire(json.loads(_whole(answer))["error"])
        except (ValueError, KeyError, TypeError):
            words = f"{self!r} answered with status {answer.status}, and not as a Footplate server does"
            return Unavailable(words, "look at the server's address, and at what stands between you and it")


def _quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="")


def _entry(fields: Any) -> StoreEntry:
    path, size, etag, modified = fields
    return StoreEntry(check_name(str(path)), int(size), str(etag), float(modified))


def _next_line(answer: WebResponse) -> bytes:
    with _complete():
        line = answer.response.readline()
        if not line.endswith(b"\n"):
            raise http.client.IncompleteRead(line)
        return line


def _whole(answer: WebResponse) -> bytes:
    with _complete():
        return answer.response.read()


@contextmanager
def _complete() -> Generator[None, None, None]:
    """A body that breaks off is the network's doing, and worth another try."""
    try:
        yield
    except (OSError, http.client.HTTPException) as error:
        words = f"the server's answer was cut off ({error or type(error).__name__})"
        raise Unavailable(words, "look at the network; try again") from None
