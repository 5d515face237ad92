"""Map run ids, which may be invented by anybody, to the keys that the tables use."""

from __future__ import annotations

import threading
from typing import NamedTuple

from sqlalchemy import Connection, select

from footplate.errors import NotFound
from footplate.storage.database import Database
from footplate.storage.schema import runs

_REMEMBERED = 20_000


class RunKey(NamedTuple):
    key: int
    experiment: int


class RunKeys:
    """Keys of runs. They never change and runs are never deleted, so lookups are cached."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._guard = threading.Lock()
        self._known: dict[str, RunKey] = {}

    def of(self, run: str, connection: Connection | None = None) -> RunKey:
        """Return the key of a run; raise NotFound for an unknown id."""
        known = self._known.get(run)
        if known is not None:
            return known
        if connection is None:
            with self._database.read() as opened:
                return self.of(run, opened)
        row = connection.execute(select(runs.c.key, runs.c.experiment).where(runs.c.id == run)).one_or_none()
        if row is None:
            raise no_such_run(run)
        with self._guard:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[run] = RunKey(row.key, row.experiment)
        return self._known.get(run) or RunKey(row.key, row.experiment)


def no_such_run(run: str) -> NotFound:
    return NotFound(f"there is no run {run[:300]!r}", "see those that exist with: footplate runs list", run=run[:300])
