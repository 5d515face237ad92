"""Multipart upload of a large file to S3 or Azure Blob; an interrupted upload resumes with the missing parts.

A small local file (`notes`) records the finished parts, one line each; its first line identifies the upload and the
version of the source. The store shows the file only after all parts were combined, and never that of a source that has
changed in the meantime.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import re
import threading
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from xml.sax.saxutils import escape

from footplate.backoff import Backoff, retry
from footplate.data.stores.base import SMALL, Count, changed_source_error
from footplate.data.stores.object_errors import error_for
from footplate.data.stores.web_client import Web
from footplate.data.transfer.fetch import run_all
from footplate.data.transfer.signing import AzureSigner, S3Signer, Signer
from footplate.disk import FileLock
from footplate.domain.data import ADLS_GEN2, AZURE_BLOB, S3, StoreSpec
from footplate.errors import NotFound, Unavailable

PART = SMALL
_MAX_PARTS = 9_000  # S3 permits 10,000
_PARALLEL_PARTS = 8
_IN_MEMORY = threading.BoundedSemaphore(2 * _PARALLEL_PARTS)  # for all files together
_ATTEMPTS = 6
_PATIENCE_SECONDS = 120.0
_CODE = re.compile(rb"<Code>(\w{1,60})</Code>")
_UPLOAD_ID = re.compile(rb"<UploadId>([^<]+)</UploadId>")
_GONE = ("NoSuchUpload", "InvalidPart", "InvalidBlockList")


class _UploadGone(Exception):
    """The store has forgotten the parts, because nobody combined them for days."""


class Parts(Protocol):
    """Multipart protocol of one kind of store. Parts are numbered from 1; sending one twice is not an error."""

    def begin(self, path: str) -> str:
        """Return the id of a new upload."""
        ...

    def check(self, path: str, upload: str) -> None:
        """Raise _UploadGone if the store no longer knows the upload; `finish` may do so instead."""
        ...

    def send(self, path: str, upload: str, number: int, data: bytes) -> str:
        """Send a part, and return the tag by which `finish` refers to it."""
        ...

    def finish(self, path: str, upload: str, tags: Sequence[str]) -> None: ...

    def abort(self, path: str, upload: str) -> None: ...


def multipart_for(spec: StoreSpec) -> Parts | None:
    """Return None where we do not sign requests ourselves: for GCS, machine roles and service principals."""
    if spec.kind == S3 and S3Signer.can(spec):
        return _S3Parts(_Client(spec, S3Signer(spec)))
    if spec.kind in (AZURE_BLOB, ADLS_GEN2) and AzureSigner.can(spec):
        return _AzureParts(_Client(spec, AzureSigner(spec)))
    return None


# ── What goes on ──────────────────────────────────────────────────────────────────────────────────────────────────────


class _State(NamedTuple):
    """An upload, and the version of its source."""

    upload: str
    part: int
    size: int
    changed: int


def upload_parts(parts: Parts, path: str, source: Path, count: Count, notes: str = "") -> None:
    """Upload the file; `notes` records the progress for a later attempt."""
    with _open_notes(notes) as noted:
        try:
            _put(parts, path, source, count, noted)
        except _UploadGone:
            noted.forget()
            try:
                _put(parts, path, source, count, noted)
            except _UploadGone:
                message = f"the store does not retain the parts of {path!r}"
                raise Unavailable(message, "check whether somebody else writes there, then try again") from None


def _put(parts: Parts, path: str, source: Path, count: Count, noted: _Notes) -> None:
    info = os.stat(source)
    state, tags = noted.read()
    if state is None or (state.size, state.changed) != (info.st_size, info.st_mtime_ns):
        if state is not None:
            parts.abort(path, state.upload)
        part = max(PART, -(-info.st_size // _MAX_PARTS))
        state = _State(parts.begin(path), part, info.st_size, info.st_mtime_ns)
        tags: dict[int, str] = {}
        noted.begin(state)
    else:
        parts.check(path, state.upload)
    _send_missing(parts, path, source, state, tags, count, noted)
    now = os.stat(source)
    if (now.st_size, now.st_mtime_ns) != (state.size, state.changed):
        parts.abort(path, state.upload)
        noted.forget()
        raise changed_source_error(source)
    parts.finish(path, state.upload, [tags[number] for number in sorted(tags)])
    noted.forget()


def _send_missing(
    parts: Parts, path: str, source: Path, state: _State, tags: dict[int, str], count: Count, noted: _Notes
) -> None:
    missing = [number for number in range(1, -(-state.size // state.part) + 1) if number not in tags]
    count(sum(_length(state, number) for number in tags))

    def send(number: int) -> None:
        with _IN_MEMORY:
            data = os.pread(file.fileno(), _length(state, number), (number - 1) * state.part)
            tags[number] = parts.send(path, state.upload, number, data)
        noted.add(number, tags[number])
        count(len(data))

    with open(source, "rb", buffering=0) as file, ThreadPoolExecutor(_PARALLEL_PARTS, "footplate-part") as pool:
        run_all(pool, send, missing)


def _length(state: _State, number: int) -> int:
    return min(state.part, state.size - (number - 1) * state.part)


# ── What is noted ─────────────────────────────────────────────────────────────────────────────────────────────────────


class _Notes:
    """Lines of JSON in a file that this process has locked. Without a file nothing is recorded."""

    def __init__(self, file: int | None, path: str) -> None:
        self._file, self._path = file, path

    def read(self) -> tuple[_State | None, dict[int, str]]:
        if self._file is None:
            return None, {}
        text = os.pread(self._file, os.fstat(self._file).st_size, 0)
        whole = text[: text.rfind(b"\n") + 1]
        os.ftruncate(self._file, len(whole))  # a killed writer may have left a partial line
        try:
            lines = [json.loads(line) for line in whole.splitlines()]
            return (_State(*lines[0]), dict(lines[1:])) if lines else (None, {})
        except (ValueError, TypeError):  # after a full disk or a power failure
            return None, {}

    def begin(self, state: _State) -> None:
        if self._file is not None:
            os.ftruncate(self._file, 0)
            self._write(list(state))

    def add(self, number: int, tag: str) -> None:
        self._write([number, tag])

    def _write(self, line: list[Any]) -> None:
        if self._file is not None:  # opened to append, so lines of several threads do not mix
            os.write(self._file, json.dumps(line).encode() + b"\n")

    def forget(self) -> None:
        if self._file is not None:
            os.ftruncate(self._file, 0)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path)


@contextlib.contextmanager
def _open_notes(path: str) -> Generator[_Notes, None, None]:
    """Open the notes, or none if another process is sending the same file."""
    if not path:
        yield _Notes(None, "")
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with FileLock(path, os.O_RDWR | os.O_CREAT | os.O_APPEND) as lock:
        yield _Notes(lock.file, path) if lock.try_take() else _Notes(None, "")


# ── Requests ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Client:
    """Signed requests, retried when the connection was cut or the store was busy."""

    def __init__(self, spec: StoreSpec, signer: Signer) -> None:
        self._spec, self._signer = spec, signer
        self._web = Web(None, _PATIENCE_SECONDS)

    def request(self, method: str, path: str, query: Mapping[str, str], body: bytes = b"") -> tuple[str, bytes]:
        """Return the ETag and the body of the answer."""
        return retry(lambda: self._request_once(method, path, query, body), _ATTEMPTS, Backoff(0.4, 6.4), Unavailable)

    def _request_once(self, method: str, path: str, query: Mapping[str, str], body: bytes) -> tuple[str, bytes]:
        request = self._signer.sign(method, path, query, len(body))
        answer = self._web.request(method, request.url, request.headers, body)
        try:
            body_text = answer.response.read()
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(f"the response for {path!r} was cut off ({type(error).__name__})", "try again") from None
        finally:
            answer.done()
        if answer.status < 300 and b"<Error>" not in body_text:  # S3 may report an error after a success status
            return answer.header("ETag"), body_text
        match = _CODE.search(body_text)
        code = match.group(1).decode() if match else ""
        if code in _GONE:
            raise _UploadGone
        # An error after a success status is the store's own fault.
        raise error_for(self._spec, path, answer.status if answer.status >= 300 else 500, code)


class _S3Parts:
    def __init__(self, client: _Client) -> None:
        self._client = client

    def begin(self, path: str) -> str:
        _, body_text = self._client.request("POST", path, {"uploads": ""})
        match = _UPLOAD_ID.search(body_text)
        if match is None:
            raise Unavailable(f"the store returned no upload id for {path!r}", "check its endpoint")
        return match.group(1).decode()

    def check(self, path: str, upload: str) -> None:
        """Check now: some stores close the connection in the middle of a part of an unknown upload."""
        self._client.request("GET", path, {"uploadId": upload, "max-parts": "1"})

    def send(self, path: str, upload: str, number: int, data: bytes) -> str:
        return self._client.request("PUT", path, {"partNumber": str(number), "uploadId": upload}, data)[0]

    def finish(self, path: str, upload: str, tags: Sequence[str]) -> None:
        named = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{escape(tag)}</ETag></Part>"
            for number, tag in enumerate(tags, 1)
        )
        body = f"<CompleteMultipartUpload>{named}</CompleteMultipartUpload>".encode()
        self._client.request("POST", path, {"uploadId": upload}, body)

    def abort(self, path: str, upload: str) -> None:
        with contextlib.suppress(_UploadGone, NotFound):
            self._client.request("DELETE", path, {"uploadId": upload})


class _AzureParts:
    """Blocks. They belong to a blob's name alone, so the upload's id is part of theirs and keeps uploads apart."""

    def __init__(self, client: _Client) -> None:
        self._client = client

    def begin(self, path: str) -> str:
        return os.urandom(8).hex()

    def check(self, path: str, upload: str) -> None:
        """Nothing to check: `finish` reports missing blocks."""

    def send(self, path: str, upload: str, number: int, data: bytes) -> str:
        block = base64.b64encode(f"{upload}-{number:06}".encode()).decode()
        self._client.request("PUT", path, {"comp": "block", "blockid": block}, data)
        return block

    def finish(self, path: str, upload: str, tags: Sequence[str]) -> None:
        named = "".join(f"<Latest>{tag}</Latest>" for tag in tags)
        body = f'<?xml version="1.0" encoding="utf-8"?><BlockList>{named}</BlockList>'.encode()
        self._client.request("PUT", path, {"comp": "blocklist"}, body)

    def abort(self, path: str, upload: str) -> None:
        """Nothing to do: Azure removes uncommitted blocks after a week."""
