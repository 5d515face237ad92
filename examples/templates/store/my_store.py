"""A store whose files are rows of one SQLite database, in place of a service.

Files are kept in memory while they are written, so this store is for small ones.
"""

from __future__ import annotations

import sqlite3
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from footplate.data.stores.base import Children, Count, ignore_count
from footplate.domain.data import StoreEntry, StoreSpec
from footplate.domain.store_names import check_name, clean_folder, join
from footplate.errors import Conflict, NotFound

_PAGE = 1000
_CHUNK = 4 * 1024 * 1024


class MyStore:
    """The location of the spec names the database. Credentials are in the spec, too, and in no message."""

    writable = True
    folder = None  # the files are not in a directory of this machine
    ranges: bool | None = True

    def __init__(self, spec: StoreSpec) -> None:
        self.spec = spec
        self._guard = threading.Lock()
        self._database = sqlite3.connect(spec.location["path"], check_same_thread=False, isolation_level=None)
        self._query("CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, etag TEXT, modified REAL, data BLOB)")

    def __repr__(self) -> str:
        return f"MyStore({self.spec.location['path']!r})"

    def list(self, prefix: str = "") -> Iterator[list[StoreEntry]]:
        folder = clean_folder(prefix)
        first, behind = (f"{folder}/", f"{folder}0") if folder else ("", "\U0010ffff")  # "0" follows "/"
        last = first
        while page := self._query(
            "SELECT path, length(data), etag, modified FROM files WHERE path > ? AND path < ? ORDER BY path LIMIT ?",
            last, behind, _PAGE,
        ):  # fmt: skip
            yield [StoreEntry(*row) for row in page]
            last = page[-1][0]

    def children(self, folder: str = "") -> Children:
        folders: set[str] = set()
        files: list[StoreEntry] = []
        for page in self.list(folder):
            for entry in page:
                name, below, _ = entry.path[len(join(clean_folder(folder), "")) :].partition("/")
                if below:
                    folders.add(name)
                else:
                    files.append(entry)
        return Children(sorted(folders), files)

    def stat(self, path: str) -> StoreEntry:
        rows = self._query("SELECT path, length(data), etag, modified FROM files WHERE path = ?", check_name(path))
        if not rows:
            raise NotFound(f"there is no file {path!r} in {self!r}", "list the folder: footplate datastore ls NAME")
        return StoreEntry(*rows[0])

    def read(self, path: str, start: int = 0, length: int | None = None, etag: str = "") -> bytes:
        entry = self.stat(path)
        if etag and entry.etag != etag:
            raise Conflict(f"{path!r} in {self!r} has changed", "create a new version of the dataset")
        wanted = entry.size if length is None else length
        rows = self._query(
            "SELECT substr(data, ?, ?) FROM files WHERE path = ? AND etag = ?", start + 1, wanted, path, entry.etag
        )
        if not rows:
            raise Conflict(f"{path!r} in {self!r} changed while it was read", "read it again")
        return bytes(rows[0][0] or b"")  # of an empty file, SQLite returns NULL

    def stream(self, path: str, start: int = 0, etag: str = "") -> Iterator[bytes]:
        etag = etag or self.stat(path).etag
        while chunk := self.read(path, start, _CHUNK, etag):
            start += len(chunk)
            yield chunk

    def put(
        self, path: str, source: bytes | Path, *, if_absent: bool = False, count: Count = ignore_count, notes: str = ""
    ) -> StoreEntry:
        data = source if isinstance(source, bytes) else source.read_bytes()
        verb = "INSERT" if if_absent else "REPLACE"
        try:
            values = (check_name(path), uuid.uuid4().hex, time.time(), data)
            self._query(f"{verb} INTO files (path, etag, modified, data) VALUES (?, ?, ?, ?)", *values)
        except sqlite3.IntegrityError:
            raise Conflict(f"{path!r} exists in {self!r}", "choose another name") from None
        count(len(data))
        return self.stat(path)

    def delete(self, path: str) -> None:
        self._query("DELETE FROM files WHERE path = ?", check_name(path))

    def _query(self, statement: str, *values: Any) -> list[Any]:
        with self._guard:
            return self._database.execute(statement, values).fetchall()
