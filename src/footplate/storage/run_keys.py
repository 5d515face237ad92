"""Map run ids, which may be invented by anybody, to the keys that the tables use."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, select

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
