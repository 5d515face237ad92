"""Files of the built-in datastores, for clients and nodes that cannot see the server's directories.

A large file arrives in pieces, each at its offset, in a file beside the store: a repeated piece changes nothing, and an
interrupted sender asks how much has arrived and resumes there. The file gets its name when the last piece is on disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

from footplate.data.stores.base import Children
from footplate.data.stores.folder import ConfinedFolder
from footplate.data.transfer.partial import boot_id
from footplate.domain.data import StoredPart, StoreEntry
from footplate.domain.store_names import check_name
from footplate.errors import InvalidInput, NotFound
from footplate.storage import Storage
from footplate.storage.series import append_files

_CHUNK = 1 << 20
_FORGOTTEN_SECONDS = 7 * 24 * 3600.0
"""How long the pieces of an interrupted upload are kept."""


class OpenFile:
    """An open file. It stays the same file, whatever its name means while it is read."""

    def __init__(self, entry: StoreEntry, file: FileIO) -> None:
        self.entry = entry
        self._file = file

    def read(self, start: int, end: int) -> Iterator[bytes]:
        """Yield the bytes from `start` to `end`, then close the file."""
        with self._file as file:
            while start < end and (chunk := os.pread(file.fileno(), min(_CHUNK, end - start), start)):
                start += len(chunk)
                yield chunk


class StoreFileService:
    def __init__(self, store: Storage) -> None:
        self._store = store
        self._locks = append_files.KeyedLocks()

    def list(self, workspace: str, name: str, folder: str) -> Iterator[list[StoreEntry]]:
        return self._open(workspace, name).list(folder)

    def children(self, workspace: str, name: str, folder: str) -> Children:
        return self._open(workspace, name).children(folder)

    def stat(self, workspace: str, name: str, path: str) -> StoreEntry:
        return self._open(workspace, name).stat(path)

    def read(self, workspace: str, name: str, path: str) -> OpenFile:
        return OpenFile(*self._open(workspace, name).open(path))

    def put(self, workspace: str, name: str, path: str, data: bytes, if_absent: bool) -> StoredPart:
        entry = self._open(workspace, name).put(path, data, if_absent=if_absent)
        return StoredPart(entry.size, entry)

    def append(
        self, workspace: str, name: str, path: str, upload: str, offset: int, size: int, data: bytes, if_absent: bool
    ) -> StoredPart:
        """Store a piece of a file of `size` bytes. `upload` identifies the upload."""
        if offset + len(data) > size:
            raise InvalidInput(f"the piece ends at byte {offset + len(data)} of {size}", "send no more than the size")
        store = self._open(workspace, name)
        target = check_name(path)
        coming = self._store.datastores.coming(workspace, name)
        aside = coming / _key(target, upload, size)
        with self._locks.hold(str(aside)):
            if offset == 0 and not data:
                _sweep(coming)
            if complete := _find_complete(store, target, aside):
                return StoredPart(size, complete)
            come = append_files.append(aside, offset, data)
            if come < size:
                return StoredPart(come)
            entry = store.take(target, aside, if_absent=if_absent)
            _done(aside).write_text(entry.etag)
            return StoredPart(size, entry)

    def delete(self, workspace: str, name: str, path: str) -> None:
        self._open(workspace, name).delete(path)

    def _open(self, workspace: str, name: str) -> ConfinedFolder:
        """Open the folder confined: jobs and other users of the machine may put symlinks there."""
        return ConfinedFolder(self._store.datastores.folder(workspace, name))


def _key(path: str, upload: str, size: int) -> str:
    """Return a key that is valid for this boot of the machine: pieces that survive a power cut cannot be trusted."""
    identity = "\0".join((path, upload, str(size))).encode("utf-8", "surrogateescape") + boot_id()
    return hashlib.sha256(identity).hexdigest()


def _done(aside: Path) -> Path:
    """Return the marker of a complete upload: a sender that missed the response sends the last piece again."""
    return aside.with_suffix(".done")


def _find_complete(store: ConfinedFolder, path: str, aside: Path) -> StoreEntry | None:
    """Return the file that this upload has become, as long as nobody has changed it since."""
    with contextlib.suppress(FileNotFoundError, NotFound):
        etag = _done(aside).read_text()
        entry = store.stat(path)
        return entry if entry.etag == etag else None
    return None


def _sweep(coming: Path) -> None:
    if not coming.is_dir():
        return
    for aside in coming.iterdir():
        if time.time() - aside.stat().st_mtime > _FORGOTTEN_SECONDS:
            aside.unlink(missing_ok=True)
