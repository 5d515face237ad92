"""The files that a run keeps: names given to blobs."""

from __future__ import annotations

import builtins
from typing import Any

from sqlalchemy import Connection, insert, select

from footplate.domain.records import FileView
from footplate.errors import Conflict, InvalidInput, NotFound
from footplate.storage.database import Database
from footplate.storage.keys import RunKeys
from footplate.storage.paths import LONGEST_PATH, check_path
from footplate.storage.schema import files, runs

_BATCH = 500


class Files:
    def __init__(self, database: Database, keys: RunKeys) -> None:
        self._database = database
        self._keys = keys

    def list(self, run: str, prefix: str = "") -> list[FileView]:
        """By path. `prefix` is a beginning of paths, not necessarily a folder."""
        c = files.c
        with self._database.read() as connection:
            query = select(files).where(c.run == self._keys.of(run, connection).key)
            if prefix:
                # Nothing that begins so comes after the prefix and as many of the highest byte as a path is long.
                query = query.where(c.path >= prefix, c.path <= prefix + "\udcff" * LONGEST_PATH)
            rows = connection.execute(query.order_by(c.path)).all()
        return [FileView(row.path, row.size, row.digest, row.modified) for row in rows]

    def get(self, run: str, path: str) -> FileView:
        check_path(path)
        with self._database.read() as connection:
            key = self._keys.of(run, connection).key
            row = connection.execute(select(files).where(files.c.run == key, files.c.path == path)).one_or_none()
        if row is None:
            raise NotFound(
                f"run {run} has no file {path!r}", f"see what it has with: footplate runs files {run}", run=run
            )
        return FileView(row.path, row.size, row.digest, row.modified)

    def add(
        self, run: str, new: builtins.list[FileView], automatic: bool, now: float
    ) -> tuple[builtins.list[str], builtins.list[str]]:
        """Keep these files; the paths that were stored and those that were there already.

        What a user asked for must all be new, or nothing is stored (Conflict). What is collected automatically skips
        names that exist.
        """
        for file in new:
            check_path(file.path)
            if file.digest is None:
                raise InvalidInput(f"file {file.path!r} has no digest", "send its content as a blob first")
        with self._database.write() as connection:
            key = self._keys.of(run, connection).key
            # Two requests for one run wait for each other here, so that what is new stays new until it is stored.
            self._database.hold(connection, runs.c.key, key)
            have = _existing(connection, key, [file.path for file in new])
            rows: builtins.list[dict[str, Any]] = []
            skipped: builtins.list[str] = []
            for file in new:
                if file.path in have:
                    skipped.append(file.path)
                    continue
                have.add(file.path)
                row = {"run": key, "path": file.path, "size": file.size, "digest": file.digest}
                rows.append({**row, "modified": now, "automatic": automatic})
            if skipped and not automatic:
                more = f" (and {len(skipped) - 1} more)" if len(skipped) > 1 else ""
                words = f"file {skipped[0]!r}{more} already exists in run {run}"
                raise Conflict(words, "upload it under another name", paths=skipped[:100])
            if rows:
                connection.execute(insert(files), rows)
        return [row["path"] for row in rows], skipped


def _existing(connection: Connection, key: int, paths: builtins.list[str]) -> set[str]:
    found: set[str] = set()
    for start in range(0, len(paths), _BATCH):
        batch = paths[start : start + _BATCH]
        found.update(
            connection.execute(select(files.c.path).where(files.c.run == key, files.c.path.in_(batch))).scalars()
        )
    return found
