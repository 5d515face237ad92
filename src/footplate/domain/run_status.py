"""What the state of a run and of its nodes means: the status that people see, and whether it may start."""

from __future__ import annotations

from typing import Any, Set, Tuple

from footplate.domain.gpus import devices, needs
from footplate.domain.launch import meets
from footplate.domain.records import NodeState, RunRecord, Stage
from footplate.domain.run_kinds import kind_of

OVER_NODES = (NodeState.DONE, NodeState.LOST)
"""Of a node from which nothing more will come."""

ENDED_NODES = (NodeState.EXITED, *OVER_NODES)
"""Of a node whose ranks have ended."""

BEFORE_START = (NodeState.LAUNCHED, NodeState.JOINED, NodeState.PREPARING)
NODE_LOST = "node_lost"
"""The code of the cause when a node is gone: the one failure that is nobody's fault, and may be tried again."""

MPI_FAILED = "mpi_failed"
"""The code of a cause that names what started the ranks, because no rank is known to have failed."""

HOLDS_NODES = (Stage.PROVISIONING, Stage.PREPARING, Stage.RUNNING, Stage.FINALIZING)
"""In these a job counts against its target's `max_nodes`."""

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


def status(record: RunRecord) -> str:
    """The one word that people and Azure's API see."""
    if record.stage is Stage.ENDED and record.outcome is not None:
        return _STATUS_OF_OUTCOME[record.outcome.kind]
    if record.outcome is not None and record.outcome.kind == "canceled":
        return "CancelRequested"
    return _STATUS_OF_STAGE[record.stage]


def holds_nodes(record: RunRecord) -> bool:
    """Whether the run counts against its target's `max_nodes`."""
    return record.stage in HOLDS_NODES and kind_of(record.spec).has_nodes


def is_ready(record: RunRecord) -> bool:
    """Whether the ranks may start: at once when there is one process, else when every node is prepared."""
    early = BEFORE_START if meets(record.spec.distribution) else (NodeState.LAUNCHED,)
    return all(node.state not in early for node in record.nodes)


def is_equipped(record: RunRecord) -> bool:
    """Whether it is decided which GPUs the nodes have. Where there are none and none is a must, nothing has to be."""
    if all(node.gpus is not None for node in record.nodes):
        return True
    must = any(need.exact and need.count for need in needs(record.spec))
    return not must and not any(devices(node.info) for node in record.nodes)


def turning_points(record: RunRecord) -> Tuple[Any, ...]:
    """What those wait for who wait long: agents for the others of their gang, people for the end. Only when this
    changes has any of them a reason to look again."""
    ended = tuple(node.index for node in record.nodes if node.state in ENDED_NODES)
    ready = is_ready(record) and is_equipped(record)
    return ready, record.outcome is not None, record.stage is Stage.ENDED, ended


def held_gpus(record: RunRecord) -> Set[str]:
    """Those in use: a node whose ranks have ended needs its no more, whatever it still ships."""
    return {uuid for node in record.nodes if node.state not in ENDED_NODES for uuid in node.gpus or ()}
