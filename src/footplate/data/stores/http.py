"""Files of web servers: read-only, and as robust as their servers are not.

A connection that is cut is taken up again where it was (`Range` with `If-Range`), as often as it takes while there is
progress. What came counts only when it is as long as the server said, and as its digest says, where it tells one.
"""

from __future__ import annotations

import base64
import binascii
import email.utils
import http.client
import re
import urllib.parse
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from footplate.backoff import Backoff
from footplate.data.stores.base import Children, Count
from footplate.data.stores.web_client import Web, WebResponse, check_url, shown
from footplate.domain.data import UNKNOWN_SIZE, StoreEntry, StoreSpec
from footplate.domain.store_names import check_name
from footplate.errors import Broken, Conflict, InvalidInput, NotAllowed, NotFound, Unavailable

PATIENCE_SECONDS = 60.0
"""How long a server may say nothing."""

_CHUNK = 256 * 1024
_ATTEMPTS_WITHOUT_PROGRESS = 5
_PAUSE, _LONGEST_PAUSE = 0.1, 1.0
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
_DATE = "date:"  # how an etag begins that is made of Last-Modified, for a server that sends no other


class HttpStore:
    """Paths are relative to `location["url"]`, or whole addresses where there is none. `limit`: no file is larger."""

    writable = False
    folder: Path | None = None

    def __init__(self, spec: StoreSpec, limit: int | None = None, patience: float = PATIENCE_SECONDS) -> None:
        self.spec, self._limit = spec, limit
        self.ranges: bool | None = None
        self._base = check_url(spec.location["url"]).rstrip("/") if spec.location.get("url") else ""
        self._web = Web(_authorization(spec.credentials), patience)

    def __repr__(self) -> str:
        return f"HttpStore({shown(self._base) if self._base else ''!r})"

    # ── what can be asked ─────────────────────────────────────────────────────────────────────────────────────────────

    def list(self, prefix: str = "") -> Iterator[list[StoreEntry]]:
        raise self._no_list()

    def children(self, folder: str = "") -> Children:
        raise self._no_list()

    def _no_list(self) -> InvalidInput:
        return InvalidInput(f"the files of {self!r} cannot be listed", "name each of them: a web server lists nothing")

    def stat(self, path: str) -> StoreEntry:
        answer = self._ask("HEAD", path, {})
        if answer.status in (403, 405, 501):  # some servers only know GET
            answer.done()
            answer = self._ask("GET", path, {"Range": "bytes=0-0"})
        with giving_back(answer):
            self._check_status(answer, path)
            return _entry(path, answer)

    def read(self, path: str, start: int = 0, length: int | None = None, etag: str = "") -> bytes:
        end = None if length is None else start + length
        return b"".join(self._pull(path, start, end, etag)) if length != 0 else b""

    def stream(self, path: str, start: int = 0, etag: str = "") -> Iterator[bytes]:
        return self._pull(path, start, None, etag)

    def put(
        self,
        path: str,
        source: bytes | Path,
        *,
        if_absent: bool = False,
        count: Count | None = None,
        notes: str | None = None,
    ) -> StoreEntry:
        self._refuse()

    def delete(self, path: str) -> None:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise NotAllowed(f"{self!r} can only be read", "write to a datastore that is a folder or an object store")

    # ── how ───────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _pull(self, path: str, at: int, end: int | None, etag: str) -> Iterator[bytes]:
        """The bytes from `at` to `end`, over as many connections as it takes while each brings something."""
        attempts, backoff = 0, Backoff(_PAUSE, _LONGEST_PAUSE)
        while end is None or at < end:
            begun, cut = at, ""
            try:
                with giving_back(self._get(path, at, end, etag)) as answer:
                    etag = etag or _etag(answer)
                    for chunk in self._body(answer, path, at, end):
                        yield chunk
                        at += len(chunk)
                return
            except (OSError, http.client.HTTPException) as error:
                cut = str(error) or type(error).__name__
            except Unavailable as error:
                cut = error.message
            attempts = 0 if at > begun else attempts + 1
            self._check_resumable(path, at, etag, cut, attempts)
            if attempts:
                backoff.wait()
            else:
                backoff.reset()

    def _check_resumable(self, path: str, at: int, etag: str, cut: str, attempts: int) -> None:
        if attempts < _ATTEMPTS_WITHOUT_PROGRESS and (etag or not at):
            return
        why = "" if etag else "; it tells nothing by which the rest could be known to be of the same file"
        raise Unavailable(f"{self._shown(path)} was cut off after {at} bytes ({cut}){why}", "try again later")

    def _get(self, path: str, at: int, end: int | None, etag: str) -> WebResponse:
        headers = dict[str, str]()
        if at or end is not None:
            headers["Range"] = f"bytes={at}-" if end is None else f"bytes={at}-{end - 1}"
            if etag and not etag.startswith("W/"):
                headers["If-Range"] = etag[len(_DATE) :] if etag.startswith(_DATE) else f'"{etag}"'
        answer = self._ask("GET", path, headers)
        try:
            self._check_status(answer, path, at)
            if etag and _etag(answer) not in ("", etag):
                raise Conflict(f"{self._shown(path)} was changed", "make a new version of the dataset")
        except BaseException:
            answer.done()
            raise
        return answer

    def _body(self, answer: WebResponse, path: str, at: int, end: int | None) -> Iterator[bytes]:
        """What of the body was asked for. A server that ignores `Range` sends all of it, and the rest is dropped."""
        if answer.status == 416:
            return
        skip, left = 0, None if end is None else end - at
        if answer.status == 206:
            self._check_range(answer, path, at)
            self.ranges = True
        elif at or end is not None:
            self.ranges, skip = False, at
        expected = answer.header("Content-Length")
        came = 0
        while left != 0 and (chunk := answer.response.read1(_CHUNK)):
            came += len(chunk)
            self._check_limit(path, at - skip + came)
            chunk, skip = chunk[skip:], max(0, skip - len(chunk))
            chunk = chunk if left is None else chunk[:left]
            left = None if left is None else left - len(chunk)
            if chunk:
                yield chunk
        if expected.isdigit() and came < int(expected) and left != 0:  # read1 does not say so by itself
            raise http.client.IncompleteRead(b"", int(expected) - came)

    def _check_limit(self, path: str, size: int) -> None:
        if self._limit is not None and size > self._limit:
            raise InvalidInput(f"{self._shown(path)} is larger than {self._limit} bytes", "raise the limit")

    def _check_range(self, answer: WebResponse, path: str, at: int) -> None:
        told = _RANGE.match(answer.header("Content-Range"))
        if told is None or int(told.group(1)) != at:
            raise Broken(
                f"{self._shown(path)} answered with another part of the file than was asked for",
                "download it with another tool: this server cannot be trusted with parts",
            )

    def _ask(self, method: str, path: str, headers: dict[str, str]) -> WebResponse:
        return self._web.request(method, self._url(path), headers)

    def _check_status(self, answer: WebResponse, path: str, at: int = 0) -> None:
        status = answer.status
        if status in (200, 206) or (status == 416 and at):
            return
        where = self._shown(path)
        if status in (404, 410):
            raise NotFound(f"there is no {where} (status {status})", "look at the address in a browser")
        if status in (401, 403):
            raise NotAllowed(f"{where} may not be read (status {status})", "look at the credentials of the datastore")
        if status in (408, 425, 429) or status >= 500:
            raise Unavailable(f"{where} cannot be had now (status {status})", "try again later")
        raise InvalidInput(f"{where} answered with status {status}", "look at the address in a browser")

    def _url(self, path: str) -> str:
        if not self._base:
            return check_url(path)
        return f"{self._base}/{urllib.parse.quote(check_name(path), errors='surrogateescape')}"

    def _shown(self, path: str) -> str:
        return shown(self._url(path))


@contextmanager
def giving_back(answer: WebResponse) -> Generator[WebResponse, None, None]:
    try:
        yield answer
    finally:
        answer.done()


def _authorization(credentials: dict[str, str]) -> str | None:
    if "token" in credentials:
        return f"Bearer {credentials['token']}"
    if "username" in credentials:
        pair = f"{credentials['username']}:{credentials.get('password', '')}"
        return f"Basic {base64.b64encode(pair.encode()).decode()}"
    return None


def _entry(path: str, answer: WebResponse) -> StoreEntry:
    length, told = answer.header("Content-Length"), _RANGE.match(answer.header("Content-Range"))
    if told is not None:
        length = told.group(3)
    size = int(length) if length.isdigit() else UNKNOWN_SIZE
    return StoreEntry(path, size, _etag(answer), _date(answer.header("Last-Modified")), _digest(answer))


def _etag(answer: WebResponse) -> str:
    etag, date = answer.header("ETag"), answer.header("Last-Modified")
    return etag.replace('"', "") if etag else f"{_DATE}{date}" if date else ""


def _date(text: str) -> float:
    try:
        return email.utils.parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError):
        return 0.0


def _digest(answer: WebResponse) -> str:
    """Of the whole file, where the server tells it: RFC 9530's, the older Digest, or Content-MD5."""
    if answer.status == 206:  # Content-MD5 would be that of the part
        return ""
    found = re.search(r"sha-256=:?([A-Za-z0-9+/]{43}=)", answer.header("Repr-Digest") or answer.header("Digest"), re.I)
    for kind, text in (("sha256", found.group(1) if found else ""), ("md5", answer.header("Content-MD5"))):
        try:
            raw = base64.b64decode(text, validate=True)
        except binascii.Error:
            continue
        if raw:
            return f"{kind}:{raw.hex()}"
    return ""
