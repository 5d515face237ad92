"""Records of active runs, as they were last stored, so that an event of a run costs no query.

The server is the only writer of records, and each change of one has a higher version. A record enters only after it was
committed, and never after a newer one. If a writer finds another version in the database than it expected, the record
is dropped and read again.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

from footplate.domain.records import RunRecord, Stage

_REMEMBERED = 5_000


class Begun(NamedTuple):
    """A change of a record that has begun. `last_line` numbers the last line of the story, if `version` is known."""

    generation: int
    version: int | None = None
    last_line: int = 0


class RecentRecords:
    """Any thread may call every method."""

    def __init__(self, limit: int = _REMEMBERED) -> None:
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
