"""The files of a run: names for blobs."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, insert, literal, or_, select

from footplate.domain.records import FileView
from footplate.errors import Conflict, InvalidInput, NotFound
from footplate.storage.database import Database
from footplate.storage.paths import LONGEST_PATH, check_path
from footplate.storage.run_keys import RunKeys
from footplate.storage.schema import files, runs

_BATCH = 500
_RANGES = 100
_REWRITTEN = ("size", "digest", "modified", "automatic", "request", "attempt")


class RunFiles:
    def __init__(self, database: Database, keys: RunKeys) -> None:
        self._database = database
        self._keys = keys

    def list(self, run: str, prefix: str = "") -> list[FileView]:
        """List files by path. `prefix` is the beginning of a path, not necessarily a directory."""
        c = files.c
        with self._database.read() as connection:
            query = select(files).where(c.run == self._keys.of(run, connection).key)
            if prefix:
                # Every path with this prefix sorts before the prefix followed by the highest byte, repeated.
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
        self,
        run: str,
        new: builtins.list[FileView],
        automatic: bool,
        now: float,
        request: str | None = None,
        attempt: int = 1,
        overwrite: bool = False,
    ) -> tuple[builtins.list[str], builtins.list[str]]:
        """Add files; return the paths that were stored and those that were skipped, because they exist.

        Files that a user uploads must all be new unless they may `overwrite`, or nothing is stored (Conflict). Files
        that are collected automatically skip existing names. The same `request` again gives the same answer. A path
        cannot be a file and a directory.

        Files belong to an `attempt` of the run: a later attempt may overwrite files of an earlier one, and unchanged
        files stay with the earlier one.
        """
        for file in new:
            check_path(file.path)
            if file.digest is None:
                raise InvalidInput(f"file {file.path!r} has no digest", "send its content as a blob first")
        with self._database.write() as connection:
            key = self._keys.of(run, connection).key
            # Two requests for one run wait for each other here, so that new paths stay new until they are stored.
            self._database.hold(connection, runs.c.key, key)
            replaceable = attempt + 1 if overwrite else attempt  # files of earlier attempts are
            paths = _Paths(connection, key, [file.path for file in new], request, replaceable)
            rows: builtins.list[dict[str, Any]] = []
            skipped: builtins.list[str] = []
            stored: builtins.list[str] = []
            for file in new:
                obstacle = paths.obstacle(file.path)
                if obstacle is not None:
                    if not automatic:
                        raise Conflict(f"{obstacle} in run {run}", "upload it under another name", paths=[file.path])
                    skipped.append(file.path)
                    continue
                if paths.take(file.path, file.digest):
                    row = {"run": key, "path": file.path, "size": file.size, "digest": file.digest}
                    rows.append(
                        {**row, "modified": now, "automatic": automatic, "request": request, "attempt": attempt}
                    )
                stored.append(file.path)
            if rows:
                statement = self._database.insert(files)
                changed = {name: statement.excluded[name] for name in _REWRITTEN}
                connection.execute(statement.on_conflict_do_update(index_elements=["run", "path"], set_=changed), rows)
        return stored, skipped

    def replace(
        self, run: str, folder: str, new: builtins.list[FileView], now: float, attempt: int
    ) -> builtins.list[str]:
        """Replace the files that an earlier call stored in `folder` by these, all at once; return the skipped paths.

        A file that came there by another way stays, and its path is skipped.
        """
        for file in new:
            check_path(file.path)
        marker = f"{folder}/"
        c = files.c
        with self._database.write() as connection:
            key = self._keys.of(run, connection).key
            self._database.hold(connection, runs.c.key, key)
            connection.execute(delete(files).where(c.run == key, _match_below(folder), c.request == marker))
            other_paths = set(connection.execute(select(c.path).where(c.run == key, _match_below(folder))).scalars())
            stored = [file for file in new if file.path not in other_paths]
            common = {"run": key, "modified": now, "automatic": True, "request": marker, "attempt": attempt}
            if stored:
                rows = [{**common, "path": file.path, "size": file.size, "digest": file.digest} for file in stored]
                connection.execute(insert(files), rows)
        return [file.path for file in new if file.path in other_paths]

    def remove(self, run: str, path: str) -> None:
        """Remove a file, or all files below a folder; the empty path stands for all files."""
        c = files.c
        with self._database.write() as connection:
            where = [c.run == self._keys.of(run, connection).key]
            if path:
                where.append(or_(c.path == path, _match_below(path)))
            connection.execute(delete(files).where(*where))


def _match_below(folder: str) -> ColumnElement[bool]:
    return and_(files.c.path >= f"{folder}/", files.c.path <= f"{folder}/" + "\udcff" * LONGEST_PATH)


def copy_outputs(connection: Connection, source: str, target: int, folders: Sequence[str]) -> None:
    """Give a new run the files that another run keeps in these folders. Its first attempt may overwrite them."""
    c = files.c
    key = select(runs.c.key).where(runs.c.id == source).scalar_subquery()
    names = ("run", "path", "size", "digest", "modified", "automatic", "request", "attempt")
    values = (literal(target), c.path, c.size, c.digest, c.modified, c.automatic, c.request, literal(0))
    connection.execute(
        insert(files).from_select(names, select(*values).where(c.run == key, or_(*map(_match_below, folders))))
    )


class _Paths:
    """The paths of a run that new files could collide with, including the new ones as they are added."""

    def __init__(
        self, connection: Connection, run: int, new: builtins.list[str], request: str | None, attempt: int
    ) -> None:
        self._taken: set[str] = set()
        self._taken_before: set[str] = set()  # by this same request, when it arrived the first time
        self._earlier: dict[str, str] = {}  # digests of files of an earlier attempt
        above = {folder for path in new for folder in _folders(path)}
        for row in _rows(connection, run, [*new, *above]):
            if row.attempt < attempt:
                self._earlier[row.path] = row.digest
            else:
                repeated = request is not None and row.request == request
                (self._taken_before if repeated else self._taken).add(row.path)
        self._folders = {
            folder
            for path in [*self._taken, *self._taken_before, *self._earlier, *_below(connection, run, new)]
            for folder in _folders(path)
        }

    def obstacle(self, path: str) -> str | None:
        """Return why there cannot be a file with this path, or None."""
        if path in self._taken:
            return f"file {path!r} already exists"
        if path in self._folders:
            return f"{path!r} is the folder of other files"
        for folder in _folders(path):
            if folder in self._taken or folder in self._taken_before or folder in self._earlier:
                return f"{path!r} cannot be below {folder!r}, which is a file"
        return None

    def take(self, path: str, digest: str | None) -> bool:
        """Mark the path as used; return False when an equal row exists."""
        is_new = path not in self._taken_before and self._earlier.get(path) != digest
        self._taken_before.discard(path)
        self._taken.add(path)
        self._folders.update(_folders(path))
        return is_new


def _folders(path: str) -> builtins.list[str]:
    """Return all directories above a file: for a/b/c, a and a/b."""
    return [path[:at] for at, letter in enumerate(path) if letter == "/"]


def _rows(connection: Connection, run: int, paths: builtins.list[str]) -> Iterator[Any]:
    c = files.c
    for start in range(0, len(paths), _BATCH):
        batch = paths[start : start + _BATCH]
        query = select(c.path, c.request, c.attempt, c.digest).where(c.run == run, c.path.in_(batch))
        yield from connection.execute(query)


def _below(connection: Connection, run: int, paths: builtins.list[str]) -> Iterator[str]:
    """Return the paths of files below one of these paths."""
    path = files.c.path
    for start in range(0, len(paths), _RANGES):
        # "0" is the character after "/".
        ranges = [and_(path > f"{each}/", path < f"{each}0") for each in paths[start : start + _RANGES]]
        yield from connection.execute(select(path).where(files.c.run == run, or_(*ranges))).scalars()
