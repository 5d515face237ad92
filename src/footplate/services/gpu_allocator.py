"""Assign GPUs to runs: to all nodes of a run at once or to none, in the order of arrival.

If the shape of the nodes is known before a run starts, the queue starts it only when its GPUs are free
(`services.orchestration.queues`), and nobody waits here. Otherwise runs wait here, with nodes that they cannot use yet.
Nodes report their devices when they join. The records of the runs hold the assignments, so a restarted server knows
them. On the machines, agents hold locks, which also protect devices that processes of a lost node still use.
"""

from __future__ import annotations

import threading

from footplate.domain import gpus
from footplate.domain.gpus import GpuHost, Share
from footplate.domain.orders import Cause
from footplate.domain.records import RunRecord
from footplate.domain.runs import events, run_status
from footplate.domain.text import counted
from footplate.errors import Conflict, NotFound
from footplate.services.capacity import Capacity, capacity_of
from footplate.services.orchestration.orchestrator import Orchestrator
from footplate.services.orchestration.queues import QueueReader
from footplate.storage import Storage

_FEWER = (
    "it has fewer GPUs than processes, because there are no more or none was free: "
    "request a number (gpus = 1) to wait for them, or gpus = 0 for none"
)


class GpuAllocator:
    def __init__(self, store: Storage, orchestrator: Orchestrator, queues: QueueReader) -> None:
        self._store = store
        self._orchestrator = orchestrator
        self._queues = queues
        self._guard = threading.Lock()

    def equip(self, record: RunRecord) -> RunRecord:
        """Return the record with the GPUs of its nodes once they are decided, or the same record while they are not
        free.

        All nodes must have joined.
        """
        if run_status.is_equipped(record) or record.outcome is not None:
            return record
        machines = self._machines(record)
        refusal = _refusal(record, machines)
        if refusal is not None:
            return self._orchestrator.tell(record.id, events.RunFailed(refusal), record.attempt)
        with self._guard:
            others = [other for other in self._queues.active() if other.id != record.id]
            # Devices of a node are free when its ranks have ended.
            users = {uuid: other.id for other in others for uuid in run_status.held_gpus(other)}
            before = self._waiting_before(record, others, machines)
            unavailable = {*users, *_devices_of(before)}
            if not _waits_firmly(machines):
                capacity = self._capacity(record)
                promised = 0 if capacity is None else self._queues.promised_gpus(capacity.engine, others)
                unavailable |= _last_free(machines, unavailable, promised)
            shares = None if before and _waits_firmly(machines) else gpus.assign(machines, unavailable)
            if shares is not None:
                return self._hand_out(record, machines, shares)
        self._report_wait(record, machines, users, before)
        return self._store.runs.record(record.id)

    def _machines(self, record: RunRecord) -> list[GpuHost]:
        capacity = self._capacity(record)
        needs = gpus.needs(record.spec, None if capacity is None else capacity.gpus)
        pairs = zip(record.nodes, needs, strict=True)
        return [GpuHost(gpus.devices(node.info), gpus.need_on(node.info, need)) for node, need in pairs]

    def _capacity(self, record: RunRecord) -> Capacity | None:
        try:
            return capacity_of(self._store, record.workspace, record.spec.target)
        except NotFound:
            return None

    def _waiting_before(self, record: RunRecord, others: list[RunRecord], machines: list[GpuHost]) -> list[RunRecord]:
        """Return runs that wait for devices of the same machines and come first; nobody overtakes them."""
        mine = {gpu.uuid for machine in machines for gpu in machine.devices}
        polite = not _waits_firmly(machines)  # a run that requests none yields to runs that do, whoever came first
        return [
            other
            for other in others
            if other.nodes
            and run_status.is_ready(other)
            and not run_status.is_equipped(other)
            and other.outcome is None
            and _waits_firmly(self._machines(other))
            and mine & _devices_of([other])
            and (polite or _order(other) < _order(record))
        ]

    def _hand_out(self, record: RunRecord, machines: list[GpuHost], shares: tuple[Share, ...]) -> RunRecord:
        equipped = self._orchestrator.tell(record.id, events.GpusAssigned(shares), record.attempt)
        pairs = list(zip(machines, shares, strict=True))
        if any(len(share) < machine.need.count and machine.devices for machine, share in pairs):
            return self._orchestrator.tell(record.id, events.WarningAdded(_FEWER), record.attempt)
        return equipped

    def _report_wait(
        self, record: RunRecord, machines: list[GpuHost], users: dict[str, str], before: list[RunRecord]
    ) -> None:
        for node, machine in zip(record.nodes, machines, strict=True):
            count = machine.need.count
            text = f"waits for {counted(count, 'GPU')} of {node.host}"
            text += _name_runs(", held by", {users[gpu.uuid] for gpu in machine.devices if gpu.uuid in users})
            text += _name_runs(", behind", {other.id for other in before})
            try:
                self._orchestrator.tell(record.id, events.NodeProgressed(node.index, text), record.attempt)
            except Conflict:
                return  # it has ended in the meantime


def _name_runs(text: str, runs: set[str]) -> str:
    return f"{text} {' and '.join(sorted(runs))}" if runs else ""


def _waits_firmly(machines: list[GpuHost]) -> bool:
    return any(machine.need.firm and machine.need.count for machine in machines)


def _refusal(record: RunRecord, machines: list[GpuHost]) -> Cause | None:
    """Return why the run can never get its GPUs, or None."""
    short = gpus.shortage(machines)
    if short is None:
        return None
    node = record.nodes[short]
    machine = machines[short]
    has = len(machine.devices)
    sharing = sum(other.devices == machine.devices for other in machines)
    text = f"node {short} needs {counted(machine.need.count, 'GPU')}, and {node.host} has {has or 'none'}"
    if sharing > 1 and has:
        text += f" for {sharing} nodes of this run"
    hint = "request fewer (gpus, gpus_per_process), or use a target that has them"
    if gpus.uses_nccl(record.spec):
        text += "; NCCL needs one for each process"
        hint = "use PyTorchConfiguration('Gloo', …), which needs no GPU, or a target that has them"
    return Cause("no_gpus", text, hint, node=short)


def _last_free(machines: list[GpuHost], unavailable: set[str], count: int) -> set[str]:
    """Return the last `count` of the free devices: they are reserved for other runs."""
    free = [gpu.uuid for gpu in sorted({gpu for machine in machines for gpu in machine.devices}, key=lambda g: g.index)]
    free = [uuid for uuid in free if uuid not in unavailable]
    return set(free[max(0, len(free) - count) :])


def _devices_of(records: list[RunRecord]) -> set[str]:
    return {gpu.uuid for record in records for node in record.nodes for gpu in gpus.devices(node.info)}


def _order(record: RunRecord) -> tuple[int, float, str]:
    return (-record.spec.priority, record.created, record.id)
