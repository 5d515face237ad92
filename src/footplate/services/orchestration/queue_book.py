"""Active runs by compute target, in memory, so that an event costs the same however many runs wait or have nodes.

The records are those of the store: a server that starts notes them all, and after that every change.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterator

from footplate.domain import queue
from footplate.domain.records import RunRecord, Stage
from footplate.domain.runs import run_status
from footplate.domain.runs.run_kinds import kind_of

Target = tuple[str, str]
"""Workspace and name of a compute target."""


def target_of(record: RunRecord) -> Target:
    return record.workspace, record.spec.target


class QueueBook:
    """Active runs that an engine runs. Any thread may call any method; what they return is a copy."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._pages: dict[Target, _Page] = {}
        self._targets: dict[str, Target] = {}  # by run

    def note(self, record: RunRecord) -> None:
        """Take notice of a run that changed."""
        if not kind_of(record.spec).has_nodes:
            return
        target = target_of(record)
        with self._guard:
            page = self._pages.setdefault(target, _Page())
            page.put(record)
            if record.stage is Stage.ENDED:
                self._targets.pop(record.id, None)
            else:
                self._targets[record.id] = target
            if not page.runs:
                del self._pages[target]

    def find_queued(self, run: str) -> tuple[RunRecord, int] | None:
        """Return a waiting run and its position in the queue of its target; None if it does not wait there."""
        with self._guard:
            page = self._page(self._targets.get(run, ("", "")))
            record = page.runs.get(run)
            if record is None or record.stage is not Stage.QUEUED:
                return None
            return record, bisect_left(page.order, _rank(record)) + 1

    def waiting(self, target: Target) -> Iterator[RunRecord]:
        """Return the queue of a target in the order in which it is served. Runs that leave meanwhile are left out."""
        with self._guard:
            ranks = self._page(target).order.copy()
        records = (self._page(target).runs.get(run) for _, _, run in ranks)
        return (record for record in records if record is not None and record.stage is Stage.QUEUED)

    def count_waiting(self, target: Target) -> int:
        with self._guard:
            return len(self._page(target).order)

    def list_unexplained(self, target: Target) -> list[RunRecord]:
        """Return the waiting runs of a target that do not show a reason yet."""
        with self._guard:
            page = self._page(target)
            return [page.runs[run] for run in page.unexplained]

    def holding(self, target: Target) -> list[RunRecord]:
        """Return the runs that have nodes of the target."""
        with self._guard:
            return [record for record in self._page(target).runs.values() if run_status.holds_nodes(record)]

    def allocations(self, target: Target, queue_name: str, now: float) -> list[queue.Allocation]:
        """Return the nodes of the target in use, together for all runs that end at the same time."""
        with self._guard:
            busy = list(self._page(target).busy.items())
        return [queue.Allocation("", queue_name, nodes, latest_end(*time, now)) for time, nodes in busy]

    def _page(self, target: Target) -> _Page:
        """Return the page of a target; an empty one if no run is active there."""
        return self._pages.get(target) or _Page()

    def targets(self) -> list[Target]:
        """Return the targets with active runs."""
        with self._guard:
            return list(self._pages)

    def active(self) -> list[RunRecord]:
        with self._guard:
            return [record for page in self._pages.values() for record in page.runs.values()]


_Time = tuple[float | None, float | None]
"""The start of a run, if it has started, and its time limit, if it has one."""


class _Page:
    """The active runs of one target."""

    def __init__(self) -> None:
        self.runs: dict[str, RunRecord] = {}
        self.order: list[queue.Rank] = []  # of those that wait, sorted
        self.unexplained: dict[str, None] = {}  # those that wait without a reason, oldest first
        self.busy: Counter[_Time] = Counter()  # nodes in use

    def put(self, record: RunRecord) -> None:
        old = self.runs.pop(record.id, None)
        if old is not None:
            self._remove(old)
        if record.stage is not Stage.ENDED:
            self.runs[record.id] = record
            self._add(record)

    def _add(self, record: RunRecord) -> None:
        if record.stage is Stage.QUEUED:
            insort(self.order, _rank(record))
            if record.waiting is None:
                self.unexplained[record.id] = None
        elif run_status.holds_nodes(record):
            self.busy[_time(record)] += record.spec.distribution.node_count

    def _remove(self, record: RunRecord) -> None:
        if record.stage is Stage.QUEUED:
            del self.order[bisect_left(self.order, _rank(record))]
            self.unexplained.pop(record.id, None)
        elif run_status.holds_nodes(record):
            self.busy[_time(record)] -= record.spec.distribution.node_count
            if not self.busy[_time(record)]:
                del self.busy[_time(record)]


def _rank(record: RunRecord) -> queue.Rank:
    return queue.rank(record.spec.priority, record.created, record.id)


def _time(record: RunRecord) -> _Time:
    limit = record.spec.max_seconds
    return (None if limit is None else record.started), limit


def latest_end(started: float | None, limit: float | None, now: float) -> float | None:
    """Return the latest end. A time limit counts from the start of the script, which may be still to come."""
    return None if limit is None else (started or now) + limit
