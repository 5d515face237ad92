"""What the queue decides over, gathered from the store: who waits, who has what, and how much there is.

Targets have nodes of their own, so each has a line of its own. But all nodes of the local engine are one machine with
one set of GPUs: where it has some, all its lines are looked at together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from footplate.domain import gpus, queue, run_status
from footplate.domain.records import RunRecord, Stage
from footplate.engines.base import Engine
from footplate.errors import NotFound
from footplate.services.capacity import Capacity, capacity_of
from footplate.storage import Storage


@dataclass(frozen=True)
class QueueSnapshot:
    """What there is to decide at a moment."""

    records: dict[str, RunRecord]  # of those who wait
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
        """The line of a target, and those that share GPUs with it. Raises NotFound for a target that is gone."""
        capacity = capacity_of(self._store, workspace, target)
        there = self._gpus_of(capacity.engine)
        if there:
            known = self._store.runs.active(with_nodes=True)
            capacities = self._capacities(known, capacity.engine)
        else:
            known = [*self._store.runs.waiting(workspace, target), *self._store.runs.holding(workspace, target)]
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
        """How many GPUs the nodes of an engine have in all, as far as that is known, and how many runs have."""
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
                continue  # its runs are told when its own line is looked at
            if capacity.engine == engine:
                found[workspace, target] = capacity
        return found


def _target(record: RunRecord) -> tuple[str, str]:
    return record.workspace, record.spec.target


def _name(target: tuple[str, str]) -> str:
    return "/".join(target)


def _is_decided(record: RunRecord) -> bool:
    """Whether it is known which GPUs its nodes have: not before it has nodes."""
    return bool(record.nodes) and all(node.gpus is not None for node in record.nodes)


def _has_gpus(record: RunRecord, capacity: Capacity, there: int) -> int:
    """What it has, or is to have as soon as its nodes are ready."""
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
    """A time limit counts from the start of the script, which may still be to come."""
    limit = record.spec.max_seconds
    ends = None if limit is None else (record.started or now) + limit
    return queue.Allocation(record.id, _name(_target(record)), record.spec.distribution.node_count, ends, has)
