"""A large file to S3 or Azure Blob in parts, several at a time; after a cut it goes on with those that are missing.

Which parts have gone is written down, one line each, in a small file of this machine (`notes`): its first line says of
which upload, and of which state of the source. The store shows the file when all of its parts are there and are put
together; not before, and not of a source that was changed meanwhile.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
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
from footplate.data.stores.base import SMALL, Count
from footplate.data.stores.object_errors import refusal
from footplate.data.stores.web_client import Web
from footplate.data.transfer.fetch import wait_all
from footplate.data.transfer.signing import AzureSigner, S3Signer, Signer
from footplate.domain.data import ADLS_GEN2, AZURE_BLOB, S3, StoreSpec
from footplate.errors import Conflict, NotFound, Unavailable

PART = SMALL
_MOST_PARTS = 9_000  # S3 admits 10,000
_AT_A_TIME = 8
_IN_MEMORY = threading.BoundedSemaphore(2 * _AT_A_TIME)  # of all files together
_ATTEMPTS = 6
_PATIENCE_SECONDS = 120.0
_CODE = re.compile(rb"<Code>(\w{1,60})</Code>")
_UPLOAD_ID = re.compile(rb"<UploadId>([^<]+)</UploadId>")
_GONE = ("NoSuchUpload", "InvalidPart", "InvalidBlockList")


class _Gone(Exception):
    """The store has forgotten the parts that it had: nobody finished them for days."""


class Parts(Protocol):
    """How a kind of store takes a file in parts. Parts are numbered from 1 on; sending one twice is no error."""

    def begin(self, path: str) -> str:
        """What the upload is called from now on."""
        ...

    def check(self, path: str, upload: str) -> None:
        """Whether the store still knows an upload that was begun before; else _Gone, now or when it is finished."""
        ...

    def send(self, path: str, upload: str, number: int, data: bytes) -> str:
        """What the part is called when all of them are put together."""
        ...

    def finish(self, path: str, upload: str, tags: Sequence[str]) -> None: ...

    def give_up(self, path: str, upload: str) -> None: ...


def parts_of(spec: StoreSpec) -> Parts | None:
    """None where requests are not signed here: for GCS, the roles of machines, and service principals."""
    if spec.kind == S3 and S3Signer.can(spec):
        return _S3Parts(_Client(spec, S3Signer(spec)))
    if spec.kind in (AZURE_BLOB, ADLS_GEN2) and AzureSigner.can(spec):
        return _AzureParts(_Client(spec, AzureSigner(spec)))
    return None


# ── What goes on ──────────────────────────────────────────────────────────────────────────────────────────────────────


class _State(NamedTuple):
    """An upload, and the source that it is of."""

    upload: str
    part: int
    size: int
    changed: int


def put_parts(parts: Parts, path: str, source: Path, count: Count, notes: str | None = None) -> None:
    """Write the file; `notes` is where it is noted how far that is, for whoever has to do it again."""
    with _open_notes(notes) as noted:
        try:
            _put(parts, path, source, count, noted)
        except _Gone:
            noted.forget()
            try:
                _put(parts, path, source, count, noted)
            except _Gone:
                words = f"the store does not keep the parts of {path!r}"
                raise Unavailable(words, "look whether somebody else writes there; try again") from None


def _put(parts: Parts, path: str, source: Path, count: Count, noted: _Notes) -> None:
    info = os.stat(source)
    state, tags = noted.read()
    if state is None or (state.size, state.changed) != (info.st_size, info.st_mtime_ns):
        if state is not None:
            parts.give_up(path, state.upload)
        part = max(PART, -(-info.st_size // _MOST_PARTS))
        state, tags = _State(parts.begin(path), part, info.st_size, info.st_mtime_ns), dict[int, str]()
        noted.begin(state)
    else:
        parts.check(path, state.upload)
    _send_missing(parts, path, source, state, tags, count, noted)
    now = os.stat(source)
    if (now.st_size, now.st_mtime_ns) != (state.size, state.changed):
        parts.give_up(path, state.upload)
        noted.forget()
        raise Conflict(f"{source} was changed while it was sent", "send it again when nobody writes to it")
    parts.finish(path, state.upload, [tags[number] for number in sorted(tags)])
    noted.forget()


def _send_missing(
    parts: Parts, path: str, source: Path, state: _State, tags: dict[int, str], count: Count, noted: _Notes
) -> None:
    numbers, stop = range(1, -(-state.size // state.part) + 1), threading.Event()
    count(sum(_length(state, number) for number in tags))

    def send(number: int) -> None:
        if stop.is_set():
            return
        try:
            with _IN_MEMORY:
                data = os.pread(file.fileno(), _length(state, number), (number - 1) * state.part)
                tags[number] = parts.send(path, state.upload, number, data)
        except BaseException:
            stop.set()
            raise
        noted.add(number, tags[number])
        count(len(data))

    missing = [number for number in numbers if number not in tags]
    with open(source, "rb", buffering=0) as file, ThreadPoolExecutor(_AT_A_TIME, "footplate-part") as pool:
        wait_all([pool.submit(send, number) for number in missing])


def _length(state: _State, number: int) -> int:
    return min(state.part, state.size - (number - 1) * state.part)


# ── What is noted ─────────────────────────────────────────────────────────────────────────────────────────────────────


class _Notes:
    """Lines of JSON in a file that this process alone has; nothing is noted where there is none."""

    def __init__(self, file: int | None, path: str | None) -> None:
        self._file, self._path = file, path

    def read(self) -> tuple[_State | None, dict[int, str]]:
        if self._file is None:
            return None, {}
        text = os.pread(self._file, os.fstat(self._file).st_size, 0)
        whole = text[: text.rfind(b"\n") + 1]
        os.ftruncate(self._file, len(whole))  # the death of a writer may have cut the last line short
        try:
            lines = [json.loads(line) for line in whole.splitlines()]
            return (_State(*lines[0]), dict(lines[1:])) if lines else (None, {})
        except (ValueError, TypeError):  # of a disk that was full, or a machine that lost its power
            return None, {}

    def begin(self, state: _State) -> None:
        if self._file is not None:
            os.ftruncate(self._file, 0)
            self._write(list(state))

    def add(self, number: int, tag: str) -> None:
        self._write([number, tag])

    def _write(self, line: list[Any]) -> None:
        if self._file is not None:  # opened to append: lines of several threads do not mix
            os.write(self._file, json.dumps(line).encode() + b"\n")

    def forget(self) -> None:
        if self._file is not None and self._path is not None:
            os.ftruncate(self._file, 0)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path)


@contextlib.contextmanager
def _open_notes(path: str | None) -> Generator[_Notes, None, None]:
    """Who comes while another process sends the same file there does it without notes."""
    if path is None:
        yield _Notes(None, None)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield _Notes(None, None)
        else:
            yield _Notes(file, path)
    finally:
        os.close(file)


# ── Requests ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Client:
    """Signed requests, repeated when they were cut or the store was busy."""

    def __init__(self, spec: StoreSpec, signer: Signer) -> None:
        self._spec, self._signer = spec, signer
        self._web = Web(None, _PATIENCE_SECONDS)

    def ask(self, method: str, path: str, query: Mapping[str, str], body: bytes = b"") -> tuple[str, bytes]:
        """The ETag and the body of the answer."""
        return retry(lambda: self._ask(method, path, query, body), _ATTEMPTS, Backoff(0.4, 6.4), Unavailable)

    def _ask(self, method: str, path: str, query: Mapping[str, str], body: bytes) -> tuple[str, bytes]:
        request = self._signer.sign(method, path, query, len(body))
        answer = self._web.request(method, request.url, request.headers, body)
        try:
            told = answer.response.read()
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(f"the answer about {path!r} was cut off ({type(error).__name__})", "try again") from None
        finally:
            answer.done()
        if answer.status < 300 and b"<Error>" not in told:  # S3 may find out after it has said that all is well
            return answer.header("ETag"), told
        found = _CODE.search(told)
        code = found.group(1).decode() if found else ""
        if code in _GONE:
            raise _Gone
        # An error in an answer that began with success is one of the store's own.
        raise refusal(self._spec, path, answer.status if answer.status >= 300 else 500, code)


class _S3Parts:
    def __init__(self, client: _Client) -> None:
        self._client = client

    def begin(self, path: str) -> str:
        _, told = self._client.ask("POST", path, {"uploads": ""})
        found = _UPLOAD_ID.search(told)
        if found is None:
            raise Unavailable(f"the store did not say how the upload of {path!r} is called", "look at its endpoint")
        return found.group(1).decode()

    def check(self, path: str, upload: str) -> None:
        """Asked, because a store that knows none hangs up in the middle of a part, and says nothing."""
        self._client.ask("GET", path, {"uploadId": upload, "max-parts": "1"})

    def send(self, path: str, upload: str, number: int, data: bytes) -> str:
        return self._client.ask("PUT", path, {"partNumber": str(number), "uploadId": upload}, data)[0]

    def finish(self, path: str, upload: str, tags: Sequence[str]) -> None:
        named = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{escape(tag)}</ETag></Part>"
            for number, tag in enumerate(tags, 1)
        )
        body = f"<CompleteMultipartUpload>{named}</CompleteMultipartUpload>".encode()
        self._client.ask("POST", path, {"uploadId": upload}, body)

    def give_up(self, path: str, upload: str) -> None:
        with contextlib.suppress(_Gone, NotFound):
            self._client.ask("DELETE", path, {"uploadId": upload})


class _AzureParts:
    """Blocks, which belong to the name alone: the name of the upload is a part of theirs, and keeps others' apart."""

    def __init__(self, client: _Client) -> None:
        self._client = client

    def begin(self, path: str) -> str:
        return os.urandom(8).hex()

    def check(self, path: str, upload: str) -> None:
        """Blocks that are no more are found missing when all are put together."""

    def send(self, path: str, upload: str, number: int, data: bytes) -> str:
        block = base64.b64encode(f"{upload}-{number:06}".encode()).decode()
        self._client.ask("PUT", path, {"comp": "block", "blockid": block}, data)
        return block

    def finish(self, path: str, upload: str, tags: Sequence[str]) -> None:
        named = "".join(f"<Latest>{tag}</Latest>" for tag in tags)
        body = f'<?xml version="1.0" encoding="utf-8"?><BlockList>{named}</BlockList>'.encode()
        self._client.ask("PUT", path, {"comp": "blocklist"}, body)

    def give_up(self, path: str, upload: str) -> None:
        """Azure removes blocks that nobody put together after a week."""
