"""Map run ids, which may be invented by anybody, to the keys that the tables use, and remember active runs.

`RecentRecords` has records of active runs, as they were last stored, so that an event costs no query. The server is the
only writer of records, and each change of one has a higher version. A record enters only after it was committed, and
never after a newer one. If a writer finds another version in the database than it expected, the record is dropped and
read again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, select

from footplate.domain.records import RunRecord, Stage
from footplate.errors import NotFound
from footplate.storage.database import Database
from footplate.storage.schema import runs

_REMEMBERED = 20_000
_KEY = select(runs.c.key, runs.c.experiment).where(runs.c.id == bindparam("run"))


class RunKey(NamedTuple):
    key: int
    experiment: int


class RunKeys:
    """Keys of runs. They never change, so lookups are cached until a run is deleted."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._guard = threading.Lock()
        self._known: dict[str, RunKey] = {}
        self._deleted = set[str]()  # never cached again: a lookup may end after the deletion that it began before

    def of(self, run: str, connection: Connection | None = None) -> RunKey:
        """Return the key of a run; raise NotFound for an unknown id."""
        if (run_key := self._known.get(run)) is not None:
            return run_key
        if connection is None:
            with self._database.read() as opened:
                return self.of(run, opened)
        row = connection.execute(_KEY, {"run": run}).one_or_none()
        if row is None:
            raise no_such_run(run)
        return self.put(run, row.key, row.experiment)

    def put(self, run: str, key: int, experiment: int) -> RunKey:
        """Remember the key of a run that is stored."""
        run_key = RunKey(key, experiment)
        with self._guard:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            if run not in self._deleted:
                self._known[run] = run_key
        return run_key

    def forget(self, ids: Iterable[str]) -> None:
        """Forget the keys of runs that are being deleted."""
        with self._guard:
            for run in ids:
                self._known.pop(run, None)
                self._deleted.add(run)


def no_such_run(run: str) -> NotFound:
    return NotFound(f"there is no run {run[:300]!r}", "see those that exist with: footplate runs list", run=run[:300])


_REMEMBERED_RECORDS = 5_000


class Begun(NamedTuple):
    """A change of a record that has begun. `last_line` numbers the last line of the story, if `version` is known."""

    generation: int
    version: int | None = None
    last_line: int = 0


class RecentRecords:
    """Any thread may call every method."""

    def __init__(self, limit: int = _REMEMBERED_RECORDS) -> None:
        self._limit = limit
        self._guard = threading.Lock()
        self._records: dict[str, RunRecord] = {}
        self._last_lines: dict[str, int] = {}  # of the stories, as long as the record is known
        self._versions: dict[str, int] = {}  # also of runs that have ended: a late writer must not bring one back
        self._generation = 0

    def get(self, run: str) -> RunRecord | None:
        return self._records.get(run)

    def begin(self, run: str) -> Begun:
        """Drop a record that is about to change; return what is known of it, for `put` after the commit."""
        with self._guard:
            record = self._records.pop(run, None)
            last_line = self._last_lines.pop(run, 0)
            return Begun(self._generation, record.version if record else None, last_line)

    def put(self, record: RunRecord, last_line: int, begun: Begun) -> None:
        with self._guard:
            if begun.generation != self._generation or record.version <= self._versions.get(record.id, -1):
                return
            if len(self._versions) >= self._limit:
                self._records.clear()
                self._last_lines.clear()
                self._versions.clear()
                self._generation += 1
                return
            self._versions[record.id] = record.version
            if record.stage is not Stage.ENDED:
                self._records[record.id] = record
                self._last_lines[record.id] = last_line
