"""The meaning of a run's state: the status that users see, and whether its ranks may start."""

from __future__ import annotations

from typing import Any, Optional, Set, Tuple

from footplate.domain.gpus import devices, needs
from footplate.domain.launch import meets, ports_to_hold
from footplate.domain.orders import AGENT_STOPPED
from footplate.domain.records import NodeState, RunRecord, Stage, Waiting, failure_of
from footplate.domain.runs.run_kinds import kind_of

OVER_NODES = (NodeState.DONE, NodeState.LOST)
"""States of a node that will not report any more."""

ENDED_NODES = (NodeState.EXITED, *OVER_NODES)
"""States of a node whose ranks have ended."""

BEFORE_START = (NodeState.LAUNCHED, NodeState.JOINED, NodeState.PREPARING)
HOLDS_NODES = (Stage.PROVISIONING, Stage.PREPARING, Stage.RUNNING, Stage.FINALIZING)
"""Stages in which a job counts against its target's `max_nodes`."""

_STATUS_OF_STAGE = {
    Stage.ACCEPTED: "Starting",
    Stage.BACKOFF: "Queued",
    Stage.LOCKING: "Preparing",
    Stage.QUEUED: "Queued",
    Stage.PROVISIONING: "Provisioning",
    Stage.PREPARING: "Preparing",
    Stage.RUNNING: "Running",
    Stage.FINALIZING: "Finalizing",
}
_STATUS_OF_OUTCOME = {"completed": "Completed", "failed": "Failed", "canceled": "Canceled"}
TERMINAL = ("Completed", "Failed", "Canceled")
STATUSES = (
    "Starting", "Preparing", "Queued", "Provisioning", "Running", "Finalizing", "CancelRequested", *TERMINAL,
)  # fmt: skip
"""All statuses, in the order of a run's life."""


def status(record: RunRecord) -> str:
    """Return the status that users and Azure's API see."""
    if record.stage is Stage.ENDED and record.outcome is not None:
        return _STATUS_OF_OUTCOME[record.outcome.kind]
    if record.outcome is not None and record.outcome.kind == "canceled":
        return "CancelRequested"
    return _STATUS_OF_STAGE[record.stage]


def awaits_lock(record: RunRecord) -> bool:
    """Whether the environment is to be resolved now that node 0 has described itself."""
    is_open = record.lock is None and record.outcome is None and bool(record.nodes)
    return is_open and record.nodes[0].state is not NodeState.LAUNCHED


def awaits_engine(record: RunRecord) -> bool:
    """Whether the agents were stopped from outside, and the engine has not yet reported why."""
    cause = failure_of(record.outcome)
    reported_by_agent = cause is not None and cause.code == AGENT_STOPPED and cause.node is not None
    return reported_by_agent and bool(record.nodes) and record.stage is not Stage.ENDED


def visible_status(status: str, waiting: Optional[Waiting]) -> str:
    """Return the word that people see. Scaling: the engine has the run, and its cluster has no free nodes yet.

    Azure's API has no such word: there the status stays Provisioning.
    """
    return "Scaling" if status == "Provisioning" and waiting is not None else status


def holds_nodes(record: RunRecord) -> bool:
    """Whether the run counts against its target's `max_nodes`."""
    return record.stage in HOLDS_NODES and kind_of(record.spec).has_nodes


def is_ready(record: RunRecord) -> bool:
    """Whether the ranks may start: at once for a single process, otherwise when every node is prepared.

    A node that failed or was lost before it held its ports never is: then there is no plan for the others.
    """
    distribution = record.spec.distribution
    early = BEFORE_START if meets(distribution) else (NodeState.LAUNCHED,)
    return all(n.state not in early and (n.ports or not ports_to_hold(distribution, n.index)) for n in record.nodes)


def is_equipped(record: RunRecord) -> bool:
    """Whether the GPUs of the nodes are decided.

    There is nothing to decide if no node has any and none are required.
    """
    if all(node.gpus is not None for node in record.nodes):
        return True
    must = any(need.exact and need.count for need in needs(record.spec))
    return not must and not any(devices(node.info) for node in record.nodes)


def turning_points(record: RunRecord) -> Tuple[Any, ...]:
    """Return the facts that long waits are about: agents wait for their gang, users for the end of the run.

    A waiting client has to look again only when this value changes.
    """
    ended = tuple(node.index for node in record.nodes if node.state in ENDED_NODES)
    ready = is_ready(record) and is_equipped(record)
    return ready, awaits_lock(record), record.outcome is not None, record.stage is Stage.ENDED, ended


def held_gpus(record: RunRecord) -> Set[str]:
    """Return the GPUs in use. A node whose ranks have ended needs none, even while it ships."""
    return {uuid for node in record.nodes if node.state not in ENDED_NODES for uuid in node.gpus or ()}
