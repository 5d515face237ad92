"""The events and effects of a run's life, and the sentences of its story."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Optional, Tuple

from footplate.domain.orders import Cause
from footplate.domain.runs.controllers import ControllerEvent, GroupDecision

# ── Events ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Event:
    """Something that has happened to a run. The subclasses below are all there are."""


@dataclass(frozen=True)
class RunSubmitted(Event):
    by: str = ""


@dataclass(frozen=True)
class EnvironmentLocked(Event):
    lock: str
    warnings: Tuple[str, ...] = ()
    made_for: str = ""  # the kind of node, in words; empty for the server's machine, or any


@dataclass(frozen=True)
class EnvironmentDeferred(Event):
    """The environment is resolved once node 0 has joined: only then it is known what can be installed there."""


@dataclass(frozen=True)
class WaitReasonChanged(Event):
    reason: str
    position: int


@dataclass(frozen=True)
class RunAdmitted(Event):
    """The queue has assigned nodes to the run."""


@dataclass(frozen=True)
class NodesLaunched(Event):
    """The engine has accepted the run; `handle` is the engine's name for the whole group of agents."""

    handle: str


@dataclass(frozen=True)
class EngineReported(Event):
    """The engine explained why the agents are not running yet, or where it has put them."""

    reason: Optional[str] = None
    estimated_start: Optional[float] = None  # seconds since the epoch
    hosts: Tuple[Optional[str], ...] = ()  # by node; None where the engine does not know


@dataclass(frozen=True)
class NodeJoined(Event):
    node: int
    host: str
    address: str
    info: Dict[str, Any]


@dataclass(frozen=True)
class NodeProgressed(Event):
    node: int
    message: str


@dataclass(frozen=True)
class GpusAssigned(Event):
    """The GPUs of all nodes are decided: the UUIDs of each node, in the order of the nodes."""

    gpus: Tuple[Tuple[str, ...], ...]


@dataclass(frozen=True)
class NodePrepared(Event):
    """A node can start its ranks now and holds these ports for them."""

    node: int
    ports: Tuple[int, ...] = ()


@dataclass(frozen=True)
class NodeStarted(Event):
    node: int


@dataclass(frozen=True)
class NodeWorkersFinished(Event):
    """The only ranks left on a node serve other ranks. They are stopped when all nodes are this far."""

    node: int


@dataclass(frozen=True)
class RankFailed(Event):
    """A rank has failed and its node is about to stop the others. The other nodes need not wait for that."""

    node: int
    cause: Cause


@dataclass(frozen=True)
class NodeExited(Event):
    """All ranks of a node have ended; `cause` is None when all of them succeeded."""

    node: int
    cause: Optional[Cause] = None


@dataclass(frozen=True)
class NodeFinished(Event):
    """A node has shipped everything, and its agent ends. `logs`: how many logs the run has now, and their bytes."""

    node: int
    logs: Optional[Tuple[int, int]] = None


@dataclass(frozen=True)
class NodeLost(Event):
    """A node is gone and did not report NodeFinished."""

    node: int
    cause: Cause


@dataclass(frozen=True)
class NodeVanished(Event):
    """The agent of one of several nodes died while its ranks ran. The other nodes cannot continue without it.

    The agent that takes over there only cleans up, and reports NodeExited and NodeFinished.
    """

    node: int
    cause: Cause


@dataclass(frozen=True)
class AgentsMissing(Event):
    """The engine has found that the agents of these nodes are gone, although the nodes have not finished.

    `launch` is the number of revivals when the engine looked: a second report about the same launch changes nothing.
    `confirmed` is true when the agents were still gone some time after the first look, so that no last report of
    theirs can be on its way. An engine that cannot tell reports nothing.
    """

    nodes: Tuple[int, ...]
    launch: int
    confirmed: bool = False


@dataclass(frozen=True)
class EngineEnded(Event):
    """The engine has ended the agents of this attempt, or has found that all of them have ended.

    `cause` is None if the engine does not know why.
    """

    cause: Optional[Cause] = None


@dataclass(frozen=True)
class StatusReported(Event):
    """The client of an interactive run set its status, as MLflow's clients do: in any order, also after the end.

    `status` is Running, Completed, Failed or Canceled; None leaves it. So does None for `ended`, the time of the end.
    """

    status: Optional[str] = None
    ended: Optional[float] = None


@dataclass(frozen=True)
class RunFailed(Event):
    """The run failed outside its nodes: the environment, the launch, the time limit, or at the user's request."""

    cause: Cause


@dataclass(frozen=True)
class RunCancelRequested(Event):
    by: str = ""
    reason: str = ""


@dataclass(frozen=True)
class RunCompleted(Event):
    """The client ends its interactive run, or adds no more children to its group."""


@dataclass(frozen=True)
class RunRestarted(Event):
    """The user restarts the run. `attempt` is the number of the new attempt, so that two requests start one."""

    attempt: int
    by: str = ""
    reason: str = ""


@dataclass(frozen=True)
class WakeTimeReached(Event):
    """The time has come at which the lifecycle wanted to be woken; `at` is that time as recorded."""

    at: float


@dataclass(frozen=True)
class GroupScaled(Event):
    """The server wants another number of children that do the same: the replicas of a web service."""

    replicas: int


@dataclass(frozen=True)
class GroupDecided(Event):
    """The controller of a group has decided what its children do next."""

    decision: GroupDecision


@dataclass(frozen=True)
class ChildrenFinished(Event):
    """All children of a group that is to end have ended."""


@dataclass(frozen=True)
class WarningAdded(Event):
    message: str


# ── Effects ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class Effect:
    """Something to do because of an event. The subclasses below are all there are."""


@dataclass(frozen=True)
class ResolveEnvironment(Effect):
    """Resolve the environment, then answer with EnvironmentLocked, EnvironmentDeferred or RunFailed."""


@dataclass(frozen=True)
class ScheduleQueue(Effect):
    """Look at the queue of the run's target again: a run arrived, left, or freed its nodes."""


@dataclass(frozen=True)
class LaunchNodes(Effect):
    """Have the engine start the run's agents, then answer with NodesLaunched or RunFailed.

    `is_first`: nobody can have started agents of this attempt yet.
    """

    is_first: bool = False


@dataclass(frozen=True)
class StopNodes(Effect):
    """Have these nodes stop their ranks, by force after the grace period. Nodes that only ship continue to ship."""

    nodes: Tuple[int, ...]


@dataclass(frozen=True)
class ForgetNodes(Effect):
    """The run has ended: have the engine forget its agents."""


@dataclass(frozen=True)
class BeginAttempt(Effect):
    """Begin another attempt. The handle of the last attempt's agents is kept until the run ends."""

    handle: Optional[str]


@dataclass(frozen=True)
class ReleaseGpus(Effect):
    """Wake runs that wait for GPUs: some are free again."""


@dataclass(frozen=True)
class WakeRun(Effect):
    """Send WakeTimeReached at this time."""

    at: float


@dataclass(frozen=True)
class ConsultController(Effect):
    """Have the controller of the group decide about this event, then answer with GroupDecided."""

    event: ControllerEvent


@dataclass(frozen=True)
class OrderChildren(Effect):
    """Submit, cancel and restart children according to the last decision of the controller."""


@dataclass(frozen=True)
class EndChildren(Effect):
    """Cancel the children of the group that still run. When none does, answer with ChildrenFinished."""


@dataclass(frozen=True)
class NotifyParent(Effect):
    """Tell the run's parent that this child has ended, if the parent is a group."""


@dataclass(frozen=True)
class AnnounceEnd(Effect):
    """Send people a message about the end of the run, if it or the settings request one."""


ATTEMPT_STARTED = "AttemptStarted"
"""The name of the story line that follows the event which began another attempt."""

# ── The story, in words ───────────────────────────────────────────────────────────────────────────────────────────────


def _describe_decision(decision: GroupDecision) -> str:
    if decision.log:
        return "; ".join(decision.log)
    orders = {
        "submit": [order.key for order in decision.submit],
        "cancel": [order.key for order in decision.cancel],
        "restart": [order.key for order in decision.restart],
    }
    words = [f"{verb} {', '.join(keys)}" for verb, keys in orders.items() if keys]
    if decision.end is not None:
        words.append(f"end as {decision.end.kind}")
    return "the controller decided to " + (" and ".join(words) or "wait")


def who_and_why(event: RunCancelRequested | RunRestarted) -> str:
    """Return who requested it, and the reason if one was given."""
    return (event.by or "the user") + (f": {event.reason}" if event.reason else "")


def describe(event: Event) -> str:
    """Return a sentence for the run's story."""
    node = f"node {getattr(event, 'node', 0)}"
    sentences: Dict[type, Callable[[Any], str]] = {
        RunSubmitted: lambda e: "submitted" + (f" by {e.by}" if e.by else ""),
        EnvironmentLocked: lambda e: (
            f"environment resolved ({e.lock[:12]})" + (f" for nodes with {e.made_for}" if e.made_for else "")
        ),
        EnvironmentDeferred: lambda e: "the environment will be resolved for node 0: its kind is not known yet",
        WaitReasonChanged: lambda e: f"waits in position {e.position}: {e.reason}",
        RunAdmitted: lambda e: "nodes assigned",
        NodesLaunched: lambda e: "the engine started its agents",
        EngineReported: lambda e: f"the engine reports: {e.reason}" if e.reason else "the engine assigned its nodes",
        NodeJoined: lambda e: f"{node}: agent on {e.host} reported",
        NodeProgressed: lambda e: f"{node}: {e.message}",
        GpusAssigned: lambda e: "GPUs: " + (", ".join(uuid for gpus in e.gpus for uuid in gpus) or "none"),
        NodePrepared: lambda e: f"{node}: ready to start",
        NodeStarted: lambda e: f"{node}: the script runs",
        NodeWorkersFinished: lambda e: f"{node}: its workers have finished; ranks that serve others stay",
        RankFailed: lambda e: f"{node}: {e.cause.message}",
        NodeExited: lambda e: f"{node}: " + (e.cause.message if e.cause else "all processes succeeded"),
        NodeFinished: lambda e: f"{node}: everything is stored",
        NodeLost: lambda e: f"{node}: {e.cause.message}",
        NodeVanished: lambda e: f"{node}: {e.cause.message}",
        AgentsMissing: lambda e: f"node{'s' if len(e.nodes) > 1 else ''} {', '.join(map(str, e.nodes))}: no agent runs",
        EngineEnded: lambda e: e.cause.message if e.cause else "the engine reports that all agents have ended",
        RunFailed: lambda e: e.cause.message,
        RunCancelRequested: lambda e: f"cancel requested by {who_and_why(e)}",
        RunCompleted: lambda e: "completed by its client",
        StatusReported: lambda e: f"reported as {e.status} by its client" if e.status else "its client set its end",
        RunRestarted: lambda e: f"restart requested by {who_and_why(e)}",
        WakeTimeReached: lambda e: "the pause is over",
        GroupScaled: lambda e: f"{e.replicas} replica{'' if e.replicas == 1 else 's'} requested",
        GroupDecided: lambda e: _describe_decision(e.decision),
        ChildrenFinished: lambda e: "all children have ended",
        WarningAdded: lambda e: f"warning: {e.message}",
    }
    return sentences[type(event)](event)
