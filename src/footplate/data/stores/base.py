"""The store protocol: list, stat, read, write. Everything else in this package builds on it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Callable, NamedTuple, Protocol

from footplate.domain.data import StoreEntry, StoreSpec
from footplate.errors import Conflict, NotFound

SMALL = 8 * 1024 * 1024
"""Files up to this size are one request and fit into memory; larger ones are transferred in parts."""


class Children(NamedTuple):
    """Direct contents of a store's folder: names of folders, and files."""

    folders: list[str]
    files: list[StoreEntry]


class Progress(NamedTuple):
    """Progress of a transfer. Totals grow while names are still being listed."""

    files: int
    files_total: int
    bytes: int
    bytes_total: int


Report = Callable[[Progress], None]
"""Receives the progress, at most about ten times a second, from whichever thread moves bytes."""


Count = Callable[[int], None]
"""Receives the number of bytes transferred since the last call."""


def ignore_count(_: int) -> None:
    """Ignore the number of bytes."""


class FileStore(Protocol):
    """A store of files, safe for concurrent calls. Paths are relative names (`domain.store_names`), checked here too.

    Raises NotFound for a missing path, NotAllowed for rejected credentials, InvalidInput for an invalid name, Conflict
    if the file has changed since it was listed, and Unavailable if the store cannot be reached, after its own retries.
    No error, `repr` or log line ever shows a credential.
    """

    spec: StoreSpec
    writable: bool
    folder: Path | None
    """The directory of the files, for stores on this machine."""
    ranges: bool | None
    """Whether a range of a file costs only that range; some servers send the whole file. None until it is known."""

    def list(self, prefix: str = "") -> Iterator[list[StoreEntry]]:
        """Yield all files below the folder `prefix`, in pages, in no order. A missing folder has none."""
        ...

    def children(self, folder: str = "") -> Children:
        """Return the direct contents of `folder`."""
        ...

    def stat(self, path: str) -> StoreEntry: ...

    def read(self, path: str, start: int = 0, length: int | None = None, etag: str = "") -> bytes:
        """Read bytes of a file, to its end without `length`. With `etag`: raise Conflict if the file's differs now."""
        ...

    def stream(self, path: str, start: int = 0, etag: str = "") -> Iterator[bytes]:
        """Yield the file from `start` to its end in chunks, with one request."""
        ...

    def put(
        self, path: str, source: bytes | Path, *, if_absent: bool = False, count: Count = ignore_count, notes: str = ""
    ) -> StoreEntry:
        """Write a file, whole or not at all. With `if_absent`: raise Conflict if the name exists.

        `notes`: a file for this source and target, in which a store may record the progress of a large upload, so that
        the next attempt can resume. It is removed when the upload is complete.
        """
        ...

    def delete(self, path: str) -> None:
        """Remove a file. A missing one is not an error."""
        ...


def exists(store: FileStore, path: str) -> bool:
    try:
        store.stat(path)
    except NotFound:
        return False
    return True


def fingerprint(*parts: str) -> str:
    """Return a name for what these texts identify together."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def changed_source_error(source: Path) -> Conflict:
    return Conflict(f"{source} changed during the upload", "send it again when no process writes to it")
