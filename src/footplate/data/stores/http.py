"""Files of web servers: read-only, with resumption.

A cut connection is resumed where it stopped (`Range` with `If-Range`), for as long as there is progress. The result
must have the length that the server announced, and match the digest, if the server sends one.
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
from footplate.data.stores.base import Children, Count, ignore_count
from footplate.data.stores.web_client import Web, WebResponse, check_url, printable
from footplate.domain.data import UNKNOWN_SIZE, StoreEntry, StoreSpec
from footplate.domain.store_names import check_name
from footplate.errors import Broken, Conflict, InvalidInput, NotAllowed, NotFound, Unavailable

PATIENCE_SECONDS = 60.0
"""Seconds that a server may stay silent."""

_CHUNK = 256 * 1024
_ATTEMPTS_WITHOUT_PROGRESS = 5
_PAUSE, _LONGEST_PAUSE = 0.1, 1.0
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
_DATE = "date:"  # prefix of an etag derived from Last-Modified, for servers that send no ETag


class HttpStore:
    """A web server. Paths are relative to `location["url"]`, or whole URLs if there is none."""

    writable = False
    folder: Path | None = None

    def __init__(self, spec: StoreSpec, patience: float = PATIENCE_SECONDS) -> None:
        self.spec = spec
        self.ranges: bool | None = None
        self._base = check_url(spec.location["url"]).rstrip("/") if spec.location.get("url") else ""
        self._web = Web(_authorization(spec.credentials), patience)

    def __repr__(self) -> str:
        return f"HttpStore({printable(self._base) if self._base else ''!r})"

    # ── what can be asked ─────────────────────────────────────────────────────────────────────────────────────────────

    def list(self, prefix: str = "") -> Iterator[list[StoreEntry]]:
        raise self._no_list()

    def children(self, folder: str = "") -> Children:
        raise self._no_list()

    def _no_list(self) -> InvalidInput:
        return InvalidInput(f"{self!r} cannot list its files", "name each file: web servers have no listing")

    def stat(self, path: str) -> StoreEntry:
        answer = self._request("HEAD", path, {})
        if answer.status in (403, 405, 501):  # some servers only support GET
            answer.done()
            answer = self._request("GET", path, {"Range": "bytes=0-0"})
        with releasing(answer):
            self._check_status(answer, path)
            return _entry(path, answer)

    def read(self, path: str, start: int = 0, length: int | None = None, etag: str = "") -> bytes:
        end = None if length is None else start + length
        return b"".join(self._pull(path, start, end, etag)) if length != 0 else b""

    def stream(self, path: str, start: int = 0, etag: str = "") -> Iterator[bytes]:
        return self._pull(path, start, None, etag)

    def put(
        self, path: str, source: bytes | Path, *, if_absent: bool = False, count: Count = ignore_count, notes: str = ""
    ) -> StoreEntry:
        self._raise_read_only()

    def delete(self, path: str) -> None:
        self._raise_read_only()

    def _raise_read_only(self) -> NoReturn:
        raise NotAllowed(f"{self!r} is read-only", "write to a datastore that is a folder or an object store")

    # ── how ───────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _pull(self, path: str, at: int, end: int | None, etag: str) -> Iterator[bytes]:
        """Yield the bytes from `at` to `end`, over as many connections as it takes while each makes progress."""
        attempts = 0
        backoff = Backoff(_PAUSE, _LONGEST_PAUSE)
        while end is None or at < end:
            begun = at
            cut = ""
            try:
                with releasing(self._get(path, at, end, etag)) as answer:
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
        why = "" if etag else "; without an ETag or a date it cannot be resumed safely"
        raise Unavailable(f"{self._printable(path)} was cut off after {at} bytes ({cut}){why}", "try again later")

    def _get(self, path: str, at: int, end: int | None, etag: str) -> WebResponse:
        headers: dict[str, str] = {}
        if at or end is not None:
            headers["Range"] = f"bytes={at}-" if end is None else f"bytes={at}-{end - 1}"
            if etag and not etag.startswith("W/"):
                headers["If-Range"] = etag[len(_DATE) :] if etag.startswith(_DATE) else f'"{etag}"'
        answer = self._request("GET", path, headers)
        try:
            self._check_status(answer, path, at)
            if etag and _etag(answer) not in ("", etag):
                raise Conflict(f"{self._printable(path)} has changed", "create a new version of the dataset")
        except BaseException:
            answer.done()
            raise
        return answer

    def _body(self, answer: WebResponse, path: str, at: int, end: int | None) -> Iterator[bytes]:
        """Yield the requested part of the body.

        A server that ignores `Range` sends all of it, and the rest is dropped.
        """
        if answer.status == 416:
            return
        skip = 0
        remaining = None if end is None else end - at
        if answer.status == 206:
            self._check_range(answer, path, at)
            self.ranges = True
        elif at or end is not None:
            self.ranges = False
            skip = at
        expected = answer.header("Content-Length")
        came = 0
        while remaining != 0 and (chunk := answer.response.read1(_CHUNK)):
            came += len(chunk)
            chunk, skip = chunk[skip:], max(0, skip - len(chunk))
            chunk = chunk if remaining is None else chunk[:remaining]
            remaining = None if remaining is None else remaining - len(chunk)
            if chunk:
                yield chunk
        if expected.isdigit() and came < int(expected) and remaining != 0:  # read1 does not raise by itself
            raise http.client.IncompleteRead(b"", int(expected) - came)

    def _check_range(self, answer: WebResponse, path: str, at: int) -> None:
        matched = _RANGE.match(answer.header("Content-Range"))
        if matched is None or int(matched.group(1)) != at:
            raise Broken(
                f"{self._printable(path)} returned a different range than requested",
                "download it with another tool: this server does not handle ranges correctly",
            )

    def _request(self, method: str, path: str, headers: dict[str, str]) -> WebResponse:
        return self._web.request(method, self._url(path), headers)

    def _check_status(self, answer: WebResponse, path: str, at: int = 0) -> None:
        status = answer.status
        if status in (200, 206) or (status == 416 and at):
            return
        where = self._printable(path)
        if status in (404, 410):
            raise NotFound(f"{where} does not exist (status {status})", "check the URL in a browser")
        if status in (401, 403):
            raise NotAllowed(f"{where} denies access (status {status})", "check the datastore's credentials")
        if status in (408, 425, 429) or status >= 500:
            raise Unavailable(f"{where} is unavailable (status {status})", "try again later")
        raise InvalidInput(f"{where} answered with status {status}", "check the URL in a browser")

    def _url(self, path: str) -> str:
        if not self._base:
            return check_url(path)
        return f"{self._base}/{urllib.parse.quote(check_name(path), errors='surrogateescape')}"

    def _printable(self, path: str) -> str:
        return printable(self._url(path))


@contextmanager
def releasing(answer: WebResponse) -> Generator[WebResponse, None, None]:
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
    length = answer.header("Content-Length")
    matched = _RANGE.match(answer.header("Content-Range"))
    if matched is not None:
        length = matched.group(3)
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
    """Return the digest of the whole file if the server sends one: RFC 9530's, the older Digest, or Content-MD5."""
    if answer.status == 206:  # Content-MD5 would be that of the range
        return ""
    match = re.search(r"sha-256=:?([A-Za-z0-9+/]{43}=)", answer.header("Repr-Digest") or answer.header("Digest"), re.I)
    for kind, text in (("sha256", match.group(1) if match else ""), ("md5", answer.header("Content-MD5"))):
        try:
            raw = base64.b64decode(text, validate=True)
        except binascii.Error:
            continue
        if raw:
            return f"{kind}:{raw.hex()}"
    return ""
