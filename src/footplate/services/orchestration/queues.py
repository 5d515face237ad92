"""Gather the input of the queue's decision from the store: waiting runs, resources in use, and capacity.

Each target has its own nodes and its own queue. But all nodes of the local engine are one machine with one set of GPUs:
if it has some, all its queues are planned together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from footplate.domain import gpus, queue
from footplate.domain.records import RunRecord, Stage
from footplate.domain.runs import run_status
from footplate.engines.base import Engine
from footplate.errors import NotFound
from footplate.services.capacity import Capacity, capacity_of
from footplate.storage import Storage


@dataclass(frozen=True)
class QueueSnapshot:
    """The queues at one moment."""

    records: dict[str, RunRecord]  # of the waiting runs
    tickets: list[queue.Ticket]
    holding: list[queue.Allocation]
    lines: dict[str, queue.TargetQueue]
    gpus: int


class QueueReader:
    """The queues of all compute targets, as the store knows them."""

    def __init__(self, store: Storage, load_engine: Callable[[str], Engine]) -> None:
        self._store = store
        self._load_engine = load_engine

    def look(self, workspace: str, target: str, now: float) -> QueueSnapshot:
        """Return the queue of a target, with those that share GPUs with it. Raises NotFound for a deleted target.

        The resources in use are left out if nobody waits for them.
        """
        capacity = capacity_of(self._store, workspace, target)
        there = self._gpus_of(capacity.engine)
        if there:
            known = self._store.runs.active(with_nodes=True)
            capacities = self._capacities(known, capacity.engine)
        else:
            queued = self._store.runs.waiting(workspace, target)
            known = [*queued, *self._store.runs.holding(workspace, target)] if queued else []
            capacities = {(workspace, target): capacity}
        records = [record for record in known if _target(record) in capacities]
        waiting = [record for record in records if record.stage is Stage.QUEUED]
        having = [record for record in records if run_status.holds_nodes(record)]
        return QueueSnapshot(
            {record.id: record for record in waiting},
            [_ticket(r, gpus.wanted(r.spec, capacities[_target(r)].gpus, there)) for r in waiting],
            [_holding(r, _has_gpus(r, capacities[_target(r)], there), now) for r in having],
            {_name(key): queue.TargetQueue(key[1], found.max_nodes, found.yields) for key, found in capacities.items()},
            there,
        )

    def gpus_in_use(self, engine: str) -> tuple[int, int]:
        """Return how many GPUs the nodes of an engine have, as far as known, and how many of them runs use."""
        there = self._gpus_of(engine)
        active = self._store.runs.active(with_nodes=True) if there else []
        return there, sum(len(run_status.held_gpus(record)) for record in active)

    def promised_gpus(self, engine: str, records: Iterable[RunRecord]) -> int:
        """Count the GPUs of this engine's machine that these runs have requested and not yet received."""
        there = self._gpus_of(engine)
        undecided = [r for r in records if r.outcome is None and not _is_decided(r)] if there else []
        capacities = self._capacities(undecided, engine)
        known = [(record, capacities[_target(record)]) for record in undecided if _target(record) in capacities]
        return sum(gpus.wanted(record.spec, capacity.gpus, there) for record, capacity in known)

    def _gpus_of(self, engine: str) -> int:
        shape = self._load_engine(engine).node_shape()
        return 0 if shape is None else shape.gpus

    def _capacities(self, records: Iterable[RunRecord], engine: str) -> dict[tuple[str, str], Capacity]:
        found: dict[tuple[str, str], Capacity] = {}
        for workspace, target in {_target(record) for record in records}:
            try:
                capacity = capacity_of(self._store, workspace, target)
            except NotFound:
                continue  # its runs fail when its own queue is looked at
            if capacity.engine == engine:
                found[workspace, target] = capacity
        return found


def _target(record: RunRecord) -> tuple[str, str]:
    return record.workspace, record.spec.target


def _name(target: tuple[str, str]) -> str:
    return "/".join(target)


def _is_decided(record: RunRecord) -> bool:
    """Whether the GPUs of its nodes are decided: never before it has nodes."""
    return bool(record.nodes) and all(node.gpus is not None for node in record.nodes)


def _has_gpus(record: RunRecord, capacity: Capacity, there: int) -> int:
    """Return the GPUs that the run has, or will have as soon as its nodes are ready."""
    if _is_decided(record) or record.outcome is not None:
        return len(run_status.held_gpus(record))
    return gpus.wanted(record.spec, capacity.gpus, there)


def _ticket(record: RunRecord, wanted: int) -> queue.Ticket:
    spec = record.spec
    nodes = spec.distribution.node_count
    return queue.Ticket(
        record.id, _name(_target(record)), nodes, spec.priority, record.created, spec.max_seconds, wanted
    )


def _holding(record: RunRecord, has: int, now: float) -> queue.Allocation:
    """Return the resources of a run. Its time limit counts from the start of the script, which may be still to come."""
    limit = record.spec.max_seconds
    ends = None if limit is None else (record.started or now) + limit
    return queue.Allocation(record.id, _name(_target(record)), record.spec.distribution.node_count, ends, has)
