"""Object stores (Azure Blob, ADLS Gen2, S3 and what speaks like it, Google Cloud Storage) through obstore.

obstore signs, retries and moves the bytes outside of Python. What it says when something fails holds addresses, which
may hold signatures: its words are never passed on, only the status and the store's own code (`_explain`).
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import obstore as _obstore
from obstore import exceptions
from obstore import store as backends

from footplate.data.stores.base import SMALL, Children, Count
from footplate.data.stores.object_errors import named, refusal
from footplate.data.transfer.multipart import parts_of, put_parts
from footplate.domain.data import StoreEntry, StoreSpec
from footplate.domain.store_names import check_name, clean_folder
from footplate.errors import Conflict, InvalidInput, NotFound, Unavailable

T = TypeVar("T")
obstore: Any = _obstore  # its own types need a library that we do not
_PAGE = 1000
_PART = SMALL
_MOST_PARTS = 9_000  # S3 admits 10,000
_PARTS_AT_A_TIME = 8
_ATTEMPTS = 3
_CHUNK = 4 * 1024 * 1024
_RETRY: Any = {
    "max_retries": 6,
    "retry_timeout": timedelta(seconds=90),
    "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=10), "base": 2},
}
_TOLD = (
    re.compile(r"status code: (\d{3})"),
    re.compile(r"<Code>(\w{1,60})</Code>"),
    re.compile(r"(?i)(connection \w+|timed out|dns error|certificate|error decoding \w+ body|broken pipe)"),
)
_NOT_IN_OBJECTS = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_BAD_PATH = re.compile(r'path: ("(?:[^"\\]|\\.){1,300}")')
_NOT_PARTIAL = "non-partial response"


class ObjectStore:
    """One bucket or container. Subclasses say how it is opened."""

    writable = True
    folder: Path | None = None

    def __init__(self, spec: StoreSpec) -> None:
        self.spec = spec
        self.ranges: bool | None = None
        self._backend = _build(spec, self._open)
        self._parts = parts_of(spec)

    def _open(self, location: dict[str, str], credentials: dict[str, str], options: dict[str, Any]) -> Any:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.spec.location!r})"

    # ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def list(self, prefix: str = "") -> Iterator[list[StoreEntry]]:
        folder = _check_folder(prefix)
        pages = self._ask(folder, lambda: iter(obstore.list(self._backend, folder or None, chunk_size=_PAGE)))
        while (page := self._ask(folder, lambda: next(pages, None))) is not None:
            yield _entries(page)

    def children(self, folder: str = "") -> Children:
        name = _check_folder(folder)
        found = self._ask(name, lambda: obstore.list_with_delimiter(self._backend, name or None))
        folders = [check_name(path.rstrip("/")).rpartition("/")[2] for path in found["common_prefixes"]]
        return Children(folders, _entries(found["objects"]))

    def stat(self, path: str) -> StoreEntry:
        return _entry(self._ask(path, lambda: obstore.head(self._backend, _check(path))))

    def read(self, path: str, start: int = 0, length: int | None = None, etag: str = "") -> bytes:
        if length == 0:
            return b""
        if self.ranges is False and (start or length is not None):
            return self._read_past(path, start, length, etag)
        options: Any = {}
        if length is not None:
            options["range"] = (start, start + length)
        elif start:
            options["range"] = {"offset": start}
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                data = self._ask(path, lambda: self._get(path, options, etag).bytes().to_bytes())
                self.ranges = True if options else self.ranges
                return data
            except _NoRanges:
                self.ranges = False
                break
            except Unavailable:  # obstore asks again for an answer, but not for the rest of one that was cut
                if attempt == _ATTEMPTS:
                    raise
        return self._read_past(path, start, length, etag)

    def _read_past(self, path: str, start: int, length: int | None, etag: str) -> bytes:
        """A part of a file of a server that only ever sends all of it."""
        end = None if length is None else start + length
        kept, at = list[bytes](), 0
        for chunk in self.stream(path, 0, etag):
            kept.append(chunk[max(0, start - at) : None if end is None else max(0, end - at)])
            at += len(chunk)
            if end is not None and at >= end:
                break
        return b"".join(kept)

    def stream(self, path: str, start: int = 0, etag: str = "") -> Iterator[bytes]:
        if start and self.ranges is not False:
            yield from self._stream_rest(path, start, etag)
            return
        chunks = self._ask(path, lambda: self._get(path, {}, etag).stream(min_chunk_size=_CHUNK))
        while (chunk := self._ask(path, lambda: next(chunks, None))) is not None:
            if start >= len(chunk):
                start -= len(chunk)
                continue
            yield bytes(chunk)[start:]
            start = 0

    def _stream_rest(self, path: str, start: int, etag: str) -> Iterator[bytes]:
        size = self.stat(path).size
        while start < size:
            chunk = self.read(path, start, min(_CHUNK, size - start), etag)
            yield chunk
            start += len(chunk)

    def _get(self, path: str, options: Any, etag: str) -> Any:
        if etag and not etag.startswith("W/"):  # a weak one never matches
            options = {**options, "if_match": f'"{etag}"'}
        answer = obstore.get(self._backend, _check(path), options=options or None)
        if etag and _plain_etag(answer.meta["e_tag"]) != etag:  # some servers do not look at if_match
            raise _changed(path)
        return answer

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
        _check(path)
        if isinstance(source, Path) and os.stat(source).st_size <= SMALL:
            source = source.read_bytes()
        if isinstance(source, Path):
            return self._put_parts(path, source, if_absent, count or (lambda _: None), notes)
        data, mode = source, "create" if if_absent else "overwrite"
        done = self._ask(path, lambda: obstore.put(self._backend, path, data, mode=mode, use_multipart=False))
        if count is not None:
            count(len(data))
        return StoreEntry(path, len(data), _plain_etag(done["e_tag"]), time.time())

    def _put_parts(self, path: str, source: Path, if_absent: bool, count: Count, notes: str | None) -> StoreEntry:
        """In parts, several at a time; the store shows the file when the last part has come."""
        size = os.stat(source).st_size
        if if_absent and self._exists(path):
            raise Conflict(f"{path!r} exists in the store already", "overwrite it, or choose another name")
        if self._parts is not None:
            put_parts(self._parts, path, source, count, notes)
            return self.stat(path)
        return self._put_anew(path, source, size, count)

    def _put_anew(self, path: str, source: Path, size: int, count: Count) -> StoreEntry:
        """Through obstore, which cannot go on with what another process began."""
        part = max(_PART, -(-size // _MOST_PARTS))
        options: Any = {"use_multipart": True, "chunk_size": part, "max_concurrency": _PARTS_AT_A_TIME}
        self._ask(path, lambda: obstore.put(self._backend, path, _parts(source, part, count), **options))
        entry = self.stat(path)
        if entry.size != size:
            self.delete(path)
            raise Conflict(f"{source} was changed while it was sent", "send it again when nobody writes to it")
        return entry

    def _exists(self, path: str) -> bool:
        try:
            self.stat(path)
        except NotFound:
            return False
        return True

    def delete(self, path: str) -> None:
        try:
            self._ask(path, lambda: obstore.delete(self._backend, _check(path)))
        except NotFound:
            pass

    def _ask(self, path: str, act: Callable[[], T]) -> T:
        """What `act` returns. Errors of obstore become ours here, and do not even stay behind as their context."""
        try:
            return act()
        except (FileNotFoundError, exceptions.BaseError) as error:
            problem = _explain(self, path, error)
        raise problem


class AzureBlobStore(ObjectStore):
    def _open(self, location: dict[str, str], credentials: dict[str, str], options: dict[str, Any]) -> Any:
        names = {"key": "account_key", "sas": "sas_key"}
        secrets = {names.get(name, name): value for name, value in credentials.items()}
        if "sas_key" in secrets:
            secrets["sas_key"] = secrets["sas_key"].lstrip("?")
        return backends.AzureStore(location["container"], account_name=location["account"], **secrets, **options)


class S3Store(ObjectStore):
    def _open(self, location: dict[str, str], credentials: dict[str, str], options: dict[str, Any]) -> Any:
        region = location.get("region") or "us-east-1"
        # Buckets as a part of the path are what servers other than Amazon's all understand.
        style = "endpoint" not in location
        return backends.S3Store(
            location["bucket"], region=region, virtual_hosted_style_request=style, **credentials, **options
        )


class GcsStore(ObjectStore):
    def _open(self, location: dict[str, str], credentials: dict[str, str], options: dict[str, Any]) -> Any:
        names = {"token": "bearer_token"}
        secrets = {names.get(name, name): value for name, value in credentials.items()}
        if "endpoint" in options:
            options["base_url"] = options.pop("endpoint")
        return backends.GCSStore(location["bucket"], **secrets, **options)


def _build(spec: StoreSpec, open_backend: Callable[..., Any]) -> Any:
    location, secrets = dict(spec.location), dict(spec.credentials)
    options: dict[str, Any] = {"retry_config": _RETRY, "client_options": _client(location.get("endpoint", ""))}
    if location.get("endpoint"):
        options["endpoint"] = location["endpoint"].rstrip("/")
    if location.get("prefix"):
        options["prefix"] = clean_folder(location["prefix"])
    if secrets.pop("source", "") != "environment" and not secrets:
        options["skip_signature"] = True
    problem = ""
    try:
        return open_backend(location, secrets, options)
    except Exception as error:  # whatever it is, its words may hold the key that was not understood
        problem = type(error).__name__
    raise InvalidInput(
        f"the {spec.kind} store {spec.location} cannot be opened ({problem})",
        "look at its location and at the form of its credentials",
    )


def _client(endpoint: str) -> dict[str, Any]:
    return {
        "allow_http": endpoint.startswith("http://"),  # only where a person has written so
        "connect_timeout": timedelta(seconds=10),
        "timeout": timedelta(minutes=15),
        "read_timeout": timedelta(seconds=60),
        "user_agent": "footplate",
    }


def _check(path: str) -> str:
    """The path, when object stores take it: a file under another one would be in the way of every later listing."""
    check_name(path)
    if _NOT_IN_OBJECTS.search(path):
        raise InvalidInput(
            f"the name {path!r:.300} has a control character, or is not UTF-8, which object stores do not take",
            "rename the file",
        )
    return path


def _check_folder(path: str) -> str:
    folder = clean_folder(path)
    return _check(folder) if folder else ""


def _parts(source: Path, size: int, count: Count) -> Iterator[bytes]:
    with open(source, "rb", buffering=0) as file:
        while part := file.read(size):
            yield part
            count(len(part))


def _entries(page: Any) -> list[StoreEntry]:
    # Names that end with a slash are what some tools make to show an empty folder: no files.
    return [_entry(meta) for meta in page if not (meta["size"] == 0 and meta["path"].endswith("/"))]


def _entry(meta: Any) -> StoreEntry:
    etag = _plain_etag(meta["e_tag"])
    return StoreEntry(check_name(meta["path"]), meta["size"], etag, meta["last_modified"].timestamp())


def _plain_etag(etag: str | None) -> str:
    """Without its quotes, which the same server sends here and leaves out there."""
    return (etag or "").replace('"', "")


# ── Errors ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class _NoRanges(Exception):
    """The server sent the whole file where a part was asked for."""


def _changed(path: str) -> Conflict:
    return Conflict(f"{path!r} was changed in its store", "make a new version of the dataset, which takes it as it is")


def _explain(store: ObjectStore, path: str, error: Exception) -> Exception:
    text = str(error)
    status, code, cause = (found.group(1) if found else "" for found in (p.search(text) for p in _TOLD))
    if isinstance(error, exceptions.PreconditionError):
        return _changed(path)
    if isinstance(error, exceptions.AlreadyExistsError):
        return Conflict(f"{named(store.spec, path)} exists", "overwrite it, or choose another name")
    if isinstance(error, exceptions.InvalidPathError):
        found = _BAD_PATH.search(text)
        words = f"{named(store.spec)} holds a file with a name that is not allowed"
        return InvalidInput(f"{words}: {found.group(1)}" if found else words, "rename it in its store")
    if _NOT_PARTIAL in text:
        return _NoRanges()
    if isinstance(error, FileNotFoundError):
        return refusal(store.spec, path, 404, code)
    if isinstance(error, (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError)):
        return refusal(store.spec, path, int(status or 403), code)
    return refusal(store.spec, path, int(status) if status else None, code, cause)
