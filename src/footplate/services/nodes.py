"""Requests of node agents: joining, orders, reports and heartbeats."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from footplate.domain import azure_variables, gpus, launch
from footplate.domain.orders import Cause, Lock, MpiOrders, NodeOrders, NodePlace, Program, RankPlan, ReportedEvent
from footplate.domain.records import NodeState, RunRecord
from footplate.domain.runs import events, lifecycle, run_status
from footplate.domain.shipments import NodeReport
from footplate.domain.specs import warning_time
from footplate.domain.text import counted
from footplate.environments.url_credentials import Logins
from footplate.errors import Conflict, InvalidInput, NotFound, Unavailable
from footplate.services.artifacts.object_blobs import ObjectBlobs
from footplate.services.endpoints.version_runs import RUN_TYPE
from footplate.services.gpu_allocator import GpuAllocator
from footplate.services.orchestration.agent_jobs import AgentJobs
from footplate.services.orchestration.node_kind_memory import NodeKinds
from footplate.services.orchestration.orchestrator import Orchestrator
from footplate.services.orchestration.queues import QueueReader
from footplate.services.settings import (
    DEFAULT_FULL_DISK_SECONDS,
    DEFAULT_LOG_SIZE,
    read_full_disk_seconds,
    read_log_size,
)
from footplate.storage import Storage

log = logging.getLogger(__name__)

T = TypeVar("T")

_OWN_ADDRESS = "127.0.0.1"
_NO_LOCK = Lock("", "", {})
"""The lock of a run that has failed before its environment was resolved: its nodes have nothing to do but end."""


class EnvironmentPending(Unavailable):
    """There are no orders yet: the environment of the run is being resolved for the node."""


class NodeService:
    def __init__(
        self, store: Storage, orchestrator: Orchestrator, queues: QueueReader, jobs: AgentJobs, home: Path,
        objects: ObjectBlobs,
    ) -> None:  # fmt: skip
        self._home = home
        self._store = store
        self._orchestrator = orchestrator
        self._gpus = GpuAllocator(store, orchestrator, queues)
        self._jobs = jobs
        self._objects = objects
        self._kinds = NodeKinds(store, jobs, home)

    def join(self, run: str, node: int, attempt: int, host: str, address: str, info: dict[str, Any]) -> NodeOrders:
        """Take notice of an agent, and return its orders. Raises EnvironmentPending: then it must join again."""
        seen = self.record(run, node, attempt)
        if seen.nodes[node].state is NodeState.DONE:
            # The engine that starts agents again because one of them died may not know that this one had finished.
            raise Conflict(f"node {node} of run {run} is done", "end this agent: its ranks must not run again")
        is_new = seen.nodes[node].state is NodeState.LAUNCHED
        if is_new and node == 0:  # later, scripts of the run could say anything with its token
            self._kinds.learn(seen, info)
        joined = self._orchestrator.tell(run, events.NodeJoined(node, host, address, info), attempt, seen)
        if not self.has_environment(joined):
            raise EnvironmentPending(f"the environment of run {run} is being resolved for its node", "join again")
        if is_new and joined.lock is not None:
            warning = self._kinds.contradiction(joined, node, self._store.locks.get(joined.lock))
            if warning is not None:
                self._orchestrator.tell(run, events.WarningAdded(warning))
        return self.orders_of(self._equip(joined), node)

    @staticmethod
    def has_environment(record: RunRecord) -> bool:
        """Whether there are orders: the environment is resolved, or cannot be."""
        return record.lock is not None or record.outcome is not None

    def orders_at_launch(self, record: RunRecord) -> NodeOrders | None:
        """Return the orders of a run whose only node is on this machine: its agent need not request them.

        The agent reports that it has joined with its first shipment. None if the orders depend on what it finds.
        """
        engine = self._jobs.engine_of(record.workspace, record.spec.target)
        shape = engine.node_shape()
        if not engine.shares_home or shape is None or shape.gpus or len(record.nodes) != 1 or record.attempt > 1:
            return None
        joined, _ = lifecycle.apply(record, events.NodeJoined(0, "", _OWN_ADDRESS, {}), time.time())
        orders = self.orders_of(joined, 0)
        return orders if orders.ready else None

    def equip(self, run: str, node: int) -> RunRecord:
        """Return the same run after an attempt to assign its GPUs, if all of its nodes are ready for them."""
        return self._equip(self.record(run, node))

    def _equip(self, record: RunRecord) -> RunRecord:
        return self._gpus.equip(record) if run_status.is_ready(record) else record

    @staticmethod
    def is_due(record: RunRecord, node: int, until: str) -> bool:
        """Whether the orders answer a node that waits: it may start, or the ranks of all others have ended."""
        if until == "ended":
            return _others_ended(record, node)
        return _must_stop(record) or (run_status.is_ready(record) and run_status.is_equipped(record))

    def orders_of(self, record: RunRecord, node: int) -> NodeOrders:
        run = record.id
        ready = run_status.is_ready(record) and run_status.is_equipped(record)
        distribution = record.spec.distribution
        places = tuple(NodePlace(n.address or _OWN_ADDRESS, n.ports) for n in record.nodes) if ready else ()
        ranks = _with_gpus(record, launch.plan(record.spec, places)) if ready else ()
        lock = _NO_LOCK if record.lock is None else self._store.locks.get(record.lock)
        log_limit = None
        if record.spec.type == RUN_TYPE:
            log_limit = self._read(read_log_size, "the limit for logs of services", DEFAULT_LOG_SIZE)
        return NodeOrders(
            run=run,
            node=node,
            attempt=record.attempt,
            ready=ready,
            stop=_must_stop(record),
            program=record.spec.program or Program(),
            lock=lock,
            logins=dict(Logins(self._store.logins.all()).of(lock).by_address),
            snapshot=record.spec.snapshot,
            variables=self._variables(record, node),
            ranks=tuple(r for r in ranks if r.node == node),
            max_seconds=record.spec.max_seconds,
            warning_signal=record.spec.warning_signal,
            warning_seconds=warning_time(record.spec),
            full_disk_seconds=self._read(
                read_full_disk_seconds, "the time limit for full disks", DEFAULT_FULL_DISK_SECONDS
            ),
            direct_from=self._objects.smallest(),
            log_limit=log_limit,
            collect=record.spec.collect,
            restore=record.attempt > 1 or record.spec.outputs_from is not None,
            watch=record.spec.watch,
            shipped={
                "logs": self._store.logs.sizes(run),
                "journals": {f"{run}/{name}": size for name, size in self._store.metrics.sizes(run).items()},
            },
            inputs=record.spec.inputs,
            outputs=record.spec.outputs,
            nodes=len(record.nodes),
            processes=sum(launch.processes_per_node(distribution)),
            hold=launch.ports_to_hold(distribution, node),
            others_ended=_others_ended(record, node),
            ended_well=record.outcome is not None and record.outcome.kind == "completed",
            mpi=self._mpi(record, places) if distribution.kind == "mpi" else None,
            gpus=record.nodes[node].gpus or (),
            peers=tuple(place.address for place in places) if launch.meets(distribution) else (),
        )

    def note_prepared(self, run: str, node: int, ports: tuple[int, ...], attempt: int | None = None) -> None:
        """Record that a node can start; its orders say when all of them can."""
        seen = self.record(run, node, attempt)
        port_count = launch.ports_to_hold(seen.spec.distribution, node)
        if len(ports) != port_count or not all(0 < port < 65536 for port in ports):
            raise InvalidInput(f"node {node} holds the ports {list(ports)}", f"its ranks need {port_count} of them")
        self._orchestrator.tell(run, events.NodePrepared(node, ports), attempt, seen)

    def report(
        self, run: str, node: int, event: str, message: str | None, cause: Cause | None, attempt: int | None = None
    ) -> bool:
        """Take a report of an agent; return whether the agent must stop its ranks."""
        return self.report_all(run, node, (NodeReport(event, message, cause),), attempt)

    def report_all(self, run: str, node: int, reports: Sequence[NodeReport], attempt: int | None = None) -> bool:
        """Take reports of an agent in order, all or none; return whether the agent must stop its ranks."""
        seen = self.record(run, node, attempt)
        dated = [(self._event(run, node, report), report.age) for report in reports]
        return _must_stop(self._orchestrator.tell_all(run, dated, attempt, seen))

    def _event(self, run: str, node: int, report: NodeReport) -> events.Event:
        event, cause = report.event, report.cause
        by_name: dict[ReportedEvent, events.Event] = {
            "prepares": events.NodeProgressed(node, report.message or ""),
            "started": events.NodeStarted(node),
            "attends": events.NodeWorkersFinished(node),
            "exited": events.NodeExited(node, cause),
            "done": events.NodeFinished(node, self._store.logs.totals(run) if event == "done" else None),
        }
        if cause is not None:
            by_name |= {"failed": events.RankFailed(node, cause), "lost": events.NodeLost(node, cause)}
        if report.host is not None:
            by_name["joined"] = events.NodeJoined(node, report.host.name, report.host.address, report.host.info)
        if event not in by_name:
            names = ", ".join(
                [*(name for name in by_name if name not in ("failed", "lost")), "failed and lost (with a cause)"]
            )
            raise InvalidInput(f"node event {event!r} is unknown", f"the events are {names}")
        return by_name[event]

    def heartbeat(self, run: str, node: int, attempt: int | None = None) -> bool:
        return _must_stop(self.record(run, node, attempt))

    def record(self, run: str, node: int, attempt: int | None = None) -> RunRecord:
        """Return the run. Raises Conflict for an agent of another `attempt`: its reports do not count."""
        record = self._store.runs.record(run)
        if attempt not in (None, record.attempt):
            raise Conflict(
                f"run {run} is at attempt {record.attempt}, not {attempt}",
                "this agent is of an earlier attempt: end it",
            )
        if not 0 <= node < len(record.nodes):
            raise NotFound(f"run {run} has no node {node}", f"it has {counted(len(record.nodes), 'node')}")
        return record

    def _read(self, setting: Callable[[Path], T], what: str, default: T) -> T:
        """Return a setting; the default if the file was damaged after the run was accepted."""
        try:
            return setting(self._home)
        except InvalidInput as error:
            log.warning("%s cannot be read: %s", what, error.message)
            return default

    def _variables(self, record: RunRecord, node: int) -> dict[str, str]:
        home = self._store.runs.home(record.id)
        access = self._jobs.access(record)
        azure = azure_variables.job_variables(
            record.id, record.spec, home, access.endpoint, access.token, access.expires, node
        )
        return {**azure, **record.spec.environment.variables, **record.spec.environment_variables}

    def _mpi(self, record: RunRecord, places: tuple[NodePlace, ...]) -> MpiOrders:
        secret = self._store.secrets.derive(f"mpi:{record.id}:{record.attempt}")
        return MpiOrders(places, record.spec.distribution.processes_per_node, secret)


def _with_gpus(record: RunRecord, ranks: tuple[RankPlan, ...]) -> tuple[RankPlan, ...]:
    """Return the plans with the GPU variables of each rank."""
    nodes = record.nodes
    return tuple(
        replace(
            rank,
            variables={
                **rank.variables,
                **gpus.variables(record.spec, rank, nodes[rank.node].info, nodes[rank.node].gpus or ()),
            },
        )
        for rank in ranks
    )


def _others_ended(record: RunRecord, node: int) -> bool:
    return all(other.state in run_status.ENDED_NODES for other in record.nodes if other.index != node)


def _must_stop(record: RunRecord) -> bool:
    return record.outcome is not None
