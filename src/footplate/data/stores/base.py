"""The store protocol: list, look, read, write. Everything else in this room is built on these."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from footplate.domain.data import StoreEntry, StoreSpec

SMALL = 8 * 1024 * 1024
"""Up to here a file is one request and fits into memory; from here on it goes in parts."""


class Children(NamedTuple):
    """What lies directly in a folder of a store: names of folders, and files."""

    folders: list[str]
    files: list[StoreEntry]


class Progress(NamedTuple):
    """How far a transfer is. Totals grow while names still come in."""

    files: int
    files_total: int
    bytes: int
    bytes_total: int


Report = Callable[[Progress], None]
"""Is told the progress from time to time, at most about ten times a second, by whichever thread moves bytes."""


Count = Callable[[int], None]
"""Is told how many more bytes have gone or come."""


class FileStore(Protocol):
    """Any number of threads may call at once. Paths are relative names (`domain.names`), checked here too.

    Raises NotFound for a path that is not there, NotAllowed for credentials that do not let one in, InvalidInput for a
    name that is not one, Conflict when the file is no longer the one that was named, Unavailable when the store cannot
    be reached, after tries of its own. No error, `repr` or log line ever shows a credential.
    """

    spec: StoreSpec
    writable: bool
    folder: Path | None
    """Where the files lie on this machine, for those that do."""
    ranges: bool | None
    """Whether a part of a file costs a part of it, or, with some servers, all of it. None until that was seen."""

    def list(self, prefix: str = "") -> Iterator[list[StoreEntry]]:
        """All files below the folder `prefix`, page by page in no order. A folder that is not there has none."""
        ...

    def children(self, folder: str = "") -> Children:
        """What lies directly in `folder`."""
        ...

    def stat(self, path: str) -> StoreEntry: ...

    def read(self, path: str, start: int = 0, length: int | None = None, etag: str = "") -> bytes:
        """Bytes of a file, to its end without `length`. With `etag`: Conflict when the file has another one now."""
        ...

    def stream(self, path: str, start: int = 0, etag: str = "") -> Iterator[bytes]:
        """The file from `start` to its end in one request, in chunks."""
        ...

    def put(
        self,
        path: str,
        source: bytes | Path,
        *,
        if_absent: bool = False,
        count: Count | None = None,
        notes: str | None = None,
    ) -> StoreEntry:
        """Write a file; it is there whole or not at all. With `if_absent`: Conflict when the name is taken.

        `notes`: a file for this source and target, where a store that needs to writes down how far a large one is, so
        that the next attempt goes on there. It is gone when the file is whole.
        """
        ...

    def delete(self, path: str) -> None:
        """Remove a file; one that is not there is no error."""
        ...
