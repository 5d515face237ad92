"""Object stores (Azure Blob, ADLS Gen2, S3 and compatible ones, Google Cloud Storage) through obstore.

obstore signs, retries and moves the bytes outside of Python. Its error messages contain URLs, which may contain
signatures: they are never passed on, only the status and the store's own code (`_explain`).
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

from footplate.data.stores.base import SMALL, Children, Count, changed_source_error, exists, ignore_count
from footplate.data.stores.object_errors import display_name, error_for
from footplate.data.transfer.multipart import multipart_for, upload_parts
from footplate.domain.data import StoreEntry, StoreSpec
from footplate.domain.store_names import check_name, clean_folder
from footplate.errors import Conflict, InvalidInput, NotFound, Unavailable

T = TypeVar("T")
obstore: Any = _obstore  # its own types need a library that we do not use
_PAGE = 1000
_PART = SMALL
_MAX_PARTS = 9_000  # S3 permits 10,000
_PARALLEL_PARTS = 8
_ATTEMPTS = 3
_CHUNK = 4 * 1024 * 1024
_RETRY: Any = {
    "max_retries": 6,
    "retry_timeout": timedelta(seconds=90),
    "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=10), "base": 2},
}
_ERROR_DETAILS = (
    re.compile(r"status code: (\d{3})"),
    re.compile(r"<Code>(\w{1,60})</Code>"),
    re.compile(r"(?i)(connection \w+|timed out|dns error|certificate|error decoding \w+ body|broken pipe)"),
)
_NOT_IN_OBJECTS = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_BAD_PATH = re.compile(r'path: ("(?:[^"\\]|\\.){1,300}")')
_NOT_PARTIAL = "non-partial response"


class ObjectStore:
    """One bucket or container. Subclasses define how to open it."""

    writable = True
    folder: Path | None = None

    def __init__(self, spec: StoreSpec) -> None:
        self.spec = spec
        self.ranges: bool | None = None
        self._backend = _build(spec, self._open)
        self._parts = multipart_for(spec)

    def _open(self, location: dict[str, str], credentials: dict[str, str], options: dict[str, Any]) -> Any:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.spec.location!r})"

    # ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def list(self, prefix: str = "") -> Iterator[list[StoreEntry]]:
        folder = _check_folder(prefix)
        pages = self._call(folder, lambda: iter(obstore.list(self._backend, folder or None, chunk_size=_PAGE)))
        while (page := self._call(folder, lambda: next(pages, None))) is not None:
            yield _entries(page)

    def children(self, folder: str = "") -> Children:
        name = _check_folder(folder)
        listing = self._call(name, lambda: obstore.list_with_delimiter(self._backend, name or None))
        folders = [check_name(path.rstrip("/")).rpartition("/")[2] for path in listing["common_prefixes"]]
        return Children(folders, _entries(listing["objects"]))

    def stat(self, path: str) -> StoreEntry:
        return _entry(self._call(path, lambda: obstore.head(self._backend, _check(path))))

    def read(self, path: str, start: int = 0, length: int | None = None, etag: str = "") -> bytes:
        if length == 0:
            return b""
        if self.ranges is False and (start or length is not None):
            return self._read_by_streaming(path, start, length, etag)
        options: Any = {}
        if length is not None:
            options["range"] = (start, start + length)
        elif start:
            options["range"] = {"offset": start}
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                data = self._call(path, lambda: self._get(path, options, etag).bytes().to_bytes())
                self.ranges = True if options else self.ranges
                return data
            except _NoRanges:
                self.ranges = False
                break
            except Unavailable:  # obstore retries requests, but not the rest of a body that was cut
                if attempt == _ATTEMPTS:
                    raise
        return self._read_by_streaming(path, start, length, etag)

    def _read_by_streaming(self, path: str, start: int, length: int | None, etag: str) -> bytes:
        """Read a range from a server that always sends the whole file."""
        end = None if length is None else start + length
        at = 0
        pieces: list[bytes] = []
        for chunk in self.stream(path, 0, etag):
            pieces.append(chunk[max(0, start - at) : None if end is None else max(0, end - at)])
            at += len(chunk)
            if end is not None and at >= end:
                break
        return b"".join(pieces)

    def stream(self, path: str, start: int = 0, etag: str = "") -> Iterator[bytes]:
        if start and self.ranges is not False:
            yield from self._stream_rest(path, start, etag)
            return
        chunks = self._call(path, lambda: self._get(path, {}, etag).stream(min_chunk_size=_CHUNK))
        while (chunk := self._call(path, lambda: next(chunks, None))) is not None:
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
        if etag and _plain_etag(answer.meta["e_tag"]) != etag:  # some servers ignore if_match
            raise _changed_file_error(path)
        return answer

    # ── writing ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def put(
        self, path: str, source: bytes | Path, *, if_absent: bool = False, count: Count = ignore_count, notes: str = ""
    ) -> StoreEntry:
        _check(path)
        if isinstance(source, Path) and os.stat(source).st_size <= SMALL:
            source = source.read_bytes()
        if isinstance(source, Path):
            return self._put_large(path, source, if_absent, count, notes)
        data = source
        mode = "create" if if_absent else "overwrite"
        done = self._call(path, lambda: obstore.put(self._backend, path, data, mode=mode, use_multipart=False))
        count(len(data))
        return StoreEntry(path, len(data), _plain_etag(done["e_tag"]), time.time())

    def _put_large(self, path: str, source: Path, if_absent: bool, count: Count, notes: str) -> StoreEntry:
        """Upload in parallel parts; the store shows the file once the last part has arrived."""
        size = os.stat(source).st_size
        if if_absent and exists(self, path):
            raise Conflict(f"{path!r} already exists in the store", "overwrite it, or choose another name")
        if self._parts is not None:
            upload_parts(self._parts, path, source, count, notes)
            return self.stat(path)
        return self._put_with_obstore(path, source, size, count)

    def _put_with_obstore(self, path: str, source: Path, size: int, count: Count) -> StoreEntry:
        """Upload through obstore, which cannot resume what another process began."""
        part = max(_PART, -(-size // _MAX_PARTS))
        options: Any = {"use_multipart": True, "chunk_size": part, "max_concurrency": _PARALLEL_PARTS}
        self._call(path, lambda: obstore.put(self._backend, path, _parts(source, part, count), **options))
        entry = self.stat(path)
        if entry.size != size:
            self.delete(path)
            raise changed_source_error(source)
        return entry

    def sign_puts(self, paths: list[str], seconds: float) -> list[str]:
        """Return a URL for each path, with which anybody may write that one file for so many seconds."""
        expires = timedelta(seconds=seconds)
        return self._call(
            "", lambda: list(obstore.sign(self._backend, "PUT", [_check(path) for path in paths], expires))
        )

    def delete(self, path: str) -> None:
        try:
            self._call(path, lambda: obstore.delete(self._backend, _check(path)))
        except NotFound:
            pass

    def _call(self, path: str, act: Callable[[], T]) -> T:
        """Call `act`. Errors of obstore become ours here, without the original as their context."""
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
        # All servers other than Amazon's understand buckets in the path.
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
    except Exception as error:  # whatever the error, its message may contain the malformed key
        problem = type(error).__name__
    raise InvalidInput(
        f"the {spec.kind} store {spec.location} cannot be opened ({problem})",
        "check its location and the format of its credentials",
    )


def _client(endpoint: str) -> dict[str, Any]:
    return {
        "allow_http": endpoint.startswith("http://"),  # only if a person wrote it that way
        "connect_timeout": timedelta(seconds=10),
        "timeout": timedelta(minutes=15),
        "read_timeout": timedelta(seconds=60),
        "user_agent": "footplate",
    }


def _check(path: str) -> str:
    """Return the path if object stores accept it: one file with a bad name would break every later listing."""
    check_name(path)
    if _NOT_IN_OBJECTS.search(path):
        raise InvalidInput(
            f"the name {path!r:.300} has a control character or is not UTF-8, which object stores reject",
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
    # Some tools create empty objects with a trailing slash to show empty folders: these are not files.
    return [_entry(meta) for meta in page if not (meta["size"] == 0 and meta["path"].endswith("/"))]


def _entry(meta: Any) -> StoreEntry:
    etag = _plain_etag(meta["e_tag"])
    return StoreEntry(check_name(meta["path"]), meta["size"], etag, meta["last_modified"].timestamp())


def _plain_etag(etag: str | None) -> str:
    """Return the ETag without its quotes, which the same server sends in some responses and omits in others."""
    return (etag or "").replace('"', "")


# ── Errors ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class _NoRanges(Exception):
    """The server sent the whole file although a range was requested."""


def _changed_file_error(path: str) -> Conflict:
    return Conflict(
        f"{path!r} has changed in its store", "create a new version of the dataset to use the present files"
    )


def _explain(store: ObjectStore, path: str, error: Exception) -> Exception:
    text = str(error)
    status, code, cause = (match.group(1) if match else "" for match in (p.search(text) for p in _ERROR_DETAILS))
    if isinstance(error, exceptions.PreconditionError):
        return _changed_file_error(path)
    if isinstance(error, exceptions.AlreadyExistsError):
        return Conflict(f"{display_name(store.spec, path)} already exists", "overwrite it, or choose another name")
    if isinstance(error, exceptions.InvalidPathError):
        match = _BAD_PATH.search(text)
        message = f"{display_name(store.spec)} contains a file with an invalid name"
        return InvalidInput(f"{message}: {match.group(1)}" if match else message, "rename it in its store")
    if _NOT_PARTIAL in text:
        return _NoRanges()
    if isinstance(error, FileNotFoundError):
        return error_for(store.spec, path, 404, code)
    if isinstance(error, (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError)):
        return error_for(store.spec, path, int(status or 403), code)
    return error_for(store.spec, path, int(status) if status else None, code, cause)
