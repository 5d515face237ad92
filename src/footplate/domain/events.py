"""What happens to a run and what is to be done about it: the events and effects of its life, and the story in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Optional, Tuple, Union

from footplate.domain.controllers import ControllerEvent, GroupDecision
from footplate.domain.records import Cause

# ── Events ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class RunSubmitted:
    by: str = ""


@dataclass(frozen=True)
class EnvironmentLocked:
    lock: str
    warnings: Tuple[str, ...] = ()


@dataclass(frozen=True)
class WaitReasonChanged:
    reason: str
    position: int


@dataclass(frozen=True)
class RunAdmitted:
    """The queue gave the run its nodes."""


@dataclass(frozen=True)
class NodesLaunched:
    """The engine has taken the run; `handle` is its own word for the whole group of agents."""

    handle: str


@dataclass(frozen=True)
class EngineReported:
    """The engine explained why the agents are not running yet, or where it has put them."""

    reason: Optional[str] = None
    estimated_start: Optional[float] = None  # seconds since the epoch
    hosts: Tuple[Optional[str], ...] = ()  # by node; None where the engine does not know


@dataclass(frozen=True)
class NodeJoined:
    node: int
    host: str
    address: str
    info: Dict[str, Any]


@dataclass(frozen=True)
class NodeProgressed:
    node: int
    message: str


@dataclass(frozen=True)
class GpusAssigned:
    """It is decided which GPUs the nodes have for themselves: the UUIDs of each node, in the order of the nodes."""

    gpus: Tuple[Tuple[str, ...], ...]


@dataclass(frozen=True)
class NodePrepared:
    """A node could start its ranks now, and holds these ports for them."""

    node: int
    ports: Tuple[int, ...] = ()


@dataclass(frozen=True)
class NodeStarted:
    node: int


@dataclass(frozen=True)
class NodeWorkersFinished:
    """Of a node's ranks only those are left that serve others; they are to be ended when all nodes are this far."""

    node: int


@dataclass(frozen=True)
class RankFailed:
    """A rank has failed, and the node is about to end its others: the other nodes need not wait for that."""

    node: int
    cause: Cause


@dataclass(frozen=True)
class NodeExited:
    """All ranks of a node have ended; `cause` is None when every one of them ended well."""

    node: int
    cause: Optional[Cause] = None


@dataclass(frozen=True)
class NodeFinished:
    """A node has shipped everything and is going."""

    node: int


@dataclass(frozen=True)
class NodeLost:
    """A node is gone without having said Done."""

    node: int
    cause: Cause


@dataclass(frozen=True)
class NodeVanished:
    """The agent of a node of several died while its ranks ran. The others cannot go on without it; whoever comes to
    clean up there will say Exited and Done."""

    node: int
    cause: Cause


@dataclass(frozen=True)
class AgentsMissing:
    """The engine has found that the agents of these nodes are gone, although the nodes have not finished.

    `launch` is the number of revivals when the engine looked: a second report about the same launch changes nothing.
    `confirmed` is true when the agents were still gone some time after the first look, so that no last report of
    theirs can be on its way. An engine that cannot tell reports nothing.
    """

    nodes: Tuple[int, ...]
    launch: int
    confirmed: bool = False


@dataclass(frozen=True)
class RunFailed:
    """Something outside the nodes makes the run fail: the lock, the launch, the time limit, the user's own word."""

    cause: Cause


@dataclass(frozen=True)
class RunCancelRequested:
    by: str = ""
    reason: str = ""


@dataclass(frozen=True)
class RunCompleted:
    """The client ends its interactive run."""


@dataclass(frozen=True)
class RunRestarted:
    """The run is to be tried again. `attempt` is the number of the new attempt, so that asking twice starts one."""

    attempt: int
    by: str = ""
    reason: str = ""


@dataclass(frozen=True)
class WakeTimeReached:
    """The time has come at which the lifecycle wanted to be woken; `at` is that time as it was recorded."""

    at: float


@dataclass(frozen=True)
class GroupDecided:
    """The controller of a group has decided what its children do next."""

    decision: GroupDecision


@dataclass(frozen=True)
class ChildrenFinished:
    """All children of a group that is to end have ended."""


@dataclass(frozen=True)
class WarningAdded:
    message: str


Event = Union[
    RunSubmitted,
    EnvironmentLocked,
    WaitReasonChanged,
    RunAdmitted,
    NodesLaunched,
    EngineReported,
    NodeJoined,
    NodeProgressed,
    GpusAssigned,
    NodePrepared,
    NodeStarted,
    NodeWorkersFinished,
    RankFailed,
    NodeExited,
    NodeFinished,
    NodeLost,
    NodeVanished,
    AgentsMissing,
    RunFailed,
    RunCancelRequested,
    RunCompleted,
    RunRestarted,
    WakeTimeReached,
    GroupDecided,
    ChildrenFinished,
    WarningAdded,
]

# ── Effects ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class ResolveEnvironment:
    """Resolve the environment, then answer with Locked or Fails."""


@dataclass(frozen=True)
class ScheduleQueue:
    """Look at the queue of the run's target again: a run came, went, or freed its nodes."""


@dataclass(frozen=True)
class LaunchNodes:
    """Have the engine start the run's agents, then answer with Launched or Fails."""


@dataclass(frozen=True)
class StopNodes:
    """Have these nodes end their ranks, by force after the grace period. A node that only ships goes on shipping."""

    nodes: Tuple[int, ...]


@dataclass(frozen=True)
class ForgetNodes:
    """The run is over: nothing more will happen to it."""


@dataclass(frozen=True)
class BeginAttempt:
    """An attempt is over and another one begins. The engine's word for the old one's agents is kept until the end."""

    handle: Optional[str]


@dataclass(frozen=True)
class ReleaseGpus:
    """GPUs are free again: whoever waits for some is to look."""


@dataclass(frozen=True)
class WakeRun:
    """Send WakeTimeReached at this time."""

    at: float


@dataclass(frozen=True)
class ConsultController:
    """Have the controller of the group decide about this event, then answer with GroupDecided."""

    event: ControllerEvent


@dataclass(frozen=True)
class OrderChildren:
    """Submit, cancel and restart children as the last decision of the controller says."""


@dataclass(frozen=True)
class EndChildren:
    """Cancel the children of the group that still run. When none does, answer with ChildrenFinished."""


@dataclass(frozen=True)
class NotifyParent:
    """Tell the run's parent that this child has ended, if the parent is a group."""


Effect = Union[
    ConsultController,
    OrderChildren,
    EndChildren,
    NotifyParent,
    WakeRun,
    ResolveEnvironment,
    ScheduleQueue,
    LaunchNodes,
    StopNodes,
    ForgetNodes,
    BeginAttempt,
    ReleaseGpus,
]

ATTEMPT_STARTED = "AttemptStarted"
"""The name of the story line that follows the event which began another attempt."""

# ── The story, in words ───────────────────────────────────────────────────────────────────────────────────────────────


def _tell_decision(decision: GroupDecision) -> str:
    orders = {
        "submit": [order.key for order in decision.submit],
        "cancel": [order.key for order in decision.cancel],
        "restart": [order.key for order in decision.restart],
    }
    words = [f"{verb} {', '.join(keys)}" for verb, keys in orders.items() if keys]
    if decision.end is not None:
        words.append(f"end as {decision.end.kind}")
    return "the controller decided to " + (" and ".join(words) or "wait")


def tell(event: Event) -> str:
    """One sentence for the run's story."""
    node = f"node {getattr(event, 'node', 0)}"
    sentences: Dict[type, Callable[[Any], str]] = {
        RunSubmitted: lambda e: "submitted" + (f" by {e.by}" if e.by else ""),
        EnvironmentLocked: lambda e: f"environment resolved ({e.lock[:12]})",
        WaitReasonChanged: lambda e: f"waits in position {e.position}: {e.reason}",
        RunAdmitted: lambda e: "got its nodes",
        NodesLaunched: lambda e: "the engine started its agents",
        EngineReported: lambda e: f"the engine reports: {e.reason}" if e.reason else "the engine assigned its nodes",
        NodeJoined: lambda e: f"{node}: agent on {e.host} reported",
        NodeProgressed: lambda e: f"{node}: {e.message}",
        GpusAssigned: lambda e: "GPUs: " + (", ".join(uuid for gpus in e.gpus for uuid in gpus) or "none"),
        NodePrepared: lambda e: f"{node}: ready to start",
        NodeStarted: lambda e: f"{node}: the script runs",
        NodeWorkersFinished: lambda e: f"{node}: its workers are done, what serves others stays",
        RankFailed: lambda e: f"{node}: {e.cause.message}",
        NodeExited: lambda e: f"{node}: " + (e.cause.message if e.cause else "all processes ended well"),
        NodeFinished: lambda e: f"{node}: everything is stored",
        NodeLost: lambda e: f"{node}: {e.cause.message}",
        NodeVanished: lambda e: f"{node}: {e.cause.message}",
        AgentsMissing: lambda e: f"node{'s' if len(e.nodes) > 1 else ''} {', '.join(map(str, e.nodes))}: no agent runs",
        RunFailed: lambda e: e.cause.message,
        RunCancelRequested: lambda e: f"cancel asked by {e.by or 'the user'}" + (f": {e.reason}" if e.reason else ""),
        RunCompleted: lambda e: "completed by its client",
        RunRestarted: lambda e: f"restart asked by {e.by or 'the user'}" + (f": {e.reason}" if e.reason else ""),
        WakeTimeReached: lambda e: "the pause is over",
        GroupDecided: lambda e: _tell_decision(e.decision),
        ChildrenFinished: lambda e: "all children have ended",
        WarningAdded: lambda e: f"warning: {e.message}",
    }
    return sentences[type(event)](event)
