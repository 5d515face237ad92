"""The input of the queue's decision: waiting runs, resources in use, and capacity.

Each target has its own nodes and its own queue. But all nodes of the local engine are one machine with one set of GPUs:
if it has some, all its queues are planned together.

`QueueBook` has the active runs by compute target in memory, so that an event costs the same however many runs wait or
have nodes. The records are those of the store: a server that starts notes them all, and after that every change.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from footplate.domain import gpus, queue
from footplate.domain.records import RunRecord, Stage
from footplate.domain.runs import run_status
from footplate.domain.runs.run_kinds import kind_of
from footplate.engines.base import Engine
from footplate.errors import NotFound
from footplate.services.capacity import Capacity, capacity_of
from footplate.storage import Storage

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


@dataclass(frozen=True)
class SharedQueues:
    """Queues that are planned together, because their targets share `gpus`."""

    capacities: dict[Target, Capacity]
    gpus: int

    @property
    def by_name(self) -> dict[str, queue.TargetQueue]:
        return {
            _name(target): queue.TargetQueue(target[1], capacity.max_nodes, capacity.yields)
            for target, capacity in self.capacities.items()
        }

    def ticket(self, record: RunRecord) -> queue.Ticket:
        spec = record.spec
        target = target_of(record)
        count = gpus.count_wanted(spec, self.capacities[target].gpus, self.gpus)
        nodes = spec.distribution.node_count
        return queue.Ticket(record.id, _name(target), nodes, spec.priority, record.created, spec.max_seconds, count)


@dataclass(frozen=True)
class QueueSnapshot:
    """The queues at one moment. `waiting`, by name, is read only as far as it is needed."""

    queues: SharedQueues
    waiting: Mapping[str, Iterable[queue.Ticket]]
    unexplained: list[RunRecord]  # waiting runs that do not show a reason yet
    holding: list[queue.Allocation]


class QueueReader:
    """The queues of all compute targets."""

    def __init__(self, store: Storage, load_engine: Callable[[str], Engine]) -> None:
        self._store = store
        self._load_engine = load_engine
        self._book = QueueBook()
        self.note = self._book.note
        self.find_queued = self._book.find_queued
        self.active = self._book.active

    def count_waiting(self, workspace: str, target: str) -> int:
        return self._book.count_waiting((workspace, target))

    def waiting(self, workspace: str, target: str) -> list[RunRecord]:
        """Return the queue of a target."""
        return list(self._book.waiting((workspace, target)))

    def look(self, workspace: str, target: str, now: float) -> QueueSnapshot | None:
        """Return the queue of a target, with those that share GPUs with it; None if nobody waits there.

        Raises NotFound for a deleted target.
        """
        capacity = capacity_of(self._store, workspace, target)
        there = self._gpus_of(capacity.engine)
        targets = self._book.targets() if there else [(workspace, target)]
        if not any(self._book.count_waiting(each) for each in targets):
            return None
        queues = SharedQueues(self._capacities(targets, capacity.engine), there)
        unexplained = [record for each in queues.capacities for record in self._book.list_unexplained(each)]
        waiting = {_name(each): map(queues.ticket, self._book.waiting(each)) for each in queues.capacities}
        return QueueSnapshot(queues, waiting, unexplained, self._holding(queues.capacities, there, now))

    def _holding(self, capacities: dict[Target, Capacity], there: int, now: float) -> list[queue.Allocation]:
        if not there:
            return [each for target in capacities for each in self._book.allocations(target, _name(target), now)]
        return [
            _holding(record, _count_gpus(record, capacity, there), now)
            for target, capacity in capacities.items()
            for record in self._book.holding(target)
        ]

    def gpus_in_use(self, engine: str) -> tuple[int, int]:
        """Return how many GPUs the nodes of an engine have, as far as known, and how many of them runs use."""
        there = self._gpus_of(engine)
        active = self._book.active() if there else []
        return there, sum(len(run_status.held_gpus(record)) for record in active)

    def promised_gpus(self, engine: str, records: Iterable[RunRecord]) -> int:
        """Count the GPUs of this engine's machine that these runs have requested and not yet received, up to all."""
        there = self._gpus_of(engine)
        undecided = [r for r in records if r.outcome is None and not _is_decided(r)] if there else []
        capacities = self._capacities({target_of(record) for record in undecided}, engine)
        promised = 0
        for record in undecided:
            capacity = capacities.get(target_of(record))
            promised += 0 if capacity is None else gpus.count_wanted(record.spec, capacity.gpus, there)
            if promised >= there:
                break  # thousands may wait
        return promised

    def _gpus_of(self, engine: str) -> int:
        shape = self._load_engine(engine).node_shape()
        return 0 if shape is None else shape.gpus

    def _capacities(self, targets: Iterable[Target], engine: str) -> dict[Target, Capacity]:
        capacities: dict[Target, Capacity] = {}
        for workspace, target in targets:
            try:
                capacity = capacity_of(self._store, workspace, target)
            except NotFound:
                continue  # its runs fail when its own queue is looked at
            if capacity.engine == engine:
                capacities[workspace, target] = capacity
        return capacities


def _name(target: Target) -> str:
    return "/".join(target)


def _is_decided(record: RunRecord) -> bool:
    """Whether the GPUs of its nodes are decided: never before it has nodes."""
    return bool(record.nodes) and all(node.gpus is not None for node in record.nodes)


def _count_gpus(record: RunRecord, capacity: Capacity, there: int) -> int:
    """Return the GPUs that the run has, or will have as soon as its nodes are ready."""
    if _is_decided(record) or record.outcome is not None:
        return len(run_status.held_gpus(record))
    return gpus.count_wanted(record.spec, capacity.gpus, there)


def _holding(record: RunRecord, has: int, now: float) -> queue.Allocation:
    """Return the resources of a run."""
    ends = latest_end(record.started, record.spec.max_seconds, now)
    return queue.Allocation(record.id, _name(target_of(record)), record.spec.distribution.node_count, ends, has)
