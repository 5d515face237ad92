"""The life of a run, decided without doing: `apply(record, event, now)` gives the new record and the effects.

         Submitted           Locked          Admitted                             Started (all nodes)
  ACCEPTED ──────▶ LOCKING ────────▶ QUEUED ────────▶ PROVISIONING ▶ PREPARING ──────────▶ RUNNING
                                                                                              │ Exited (all nodes)
                                                         ENDED ◀─────────── FINALIZING ◀──────┘
                                                             Done (all nodes)

  a node: LAUNCHED ▶ JOINED ▶ PREPARING ▶ PREPARED ▶ RUNNING ▶ (ATTENDING ▶) EXITED ▶ DONE, or LOST
          PREPARED waits until all are: a gang starts together. ATTENDING has only parameter servers left.

The outcome is decided by the first event that decides it (a failed rank, a cancel, a lost node, a time limit, the last
rank that ended well) and is never changed after that, but for three cases. A node that is lost while it ships makes a
completed run a failed one. Of failed ranks the one that failed first is the cause, also when another node's word was
faster. And a node that vanished is the cause, not the ranks elsewhere that failed because of it. A run ends when its
outcome is decided and every node is over.

A run that failed or was canceled may be started again under its id (Restarted): the next attempt begins in the queue,
with the environment that was resolved for the first. A lost node does that by itself as long as the spec's
`max_attempts` allows it.
Effects are idempotent; `resume(record)` gives those that a restarted server must perform again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Dict, Optional, Tuple

from footplate.domain.events import (
    Effect,
    EngineReported,
    EnvironmentLocked,
    Event,
    GpusAssigned,
    LaunchNodes,
    NodeExited,
    NodeFinished,
    NodeJoined,
    NodeLost,
    NodePrepared,
    NodeProgressed,
    NodesLaunched,
    NodeStarted,
    NodeVanished,
    NodeWorkersFinished,
    RankFailed,
    ReleaseGpus,
    ResolveEnvironment,
    RunAdmitted,
    RunCancelRequested,
    RunCompleted,
    RunFailed,
    RunRestarted,
    RunSubmitted,
    ScheduleQueue,
    StopNodes,
    WaitReasonChanged,
    WarningAdded,
)
from footplate.domain.outcomes import (
    Decision,
    alive,
    complete_if_all_ended,
    decide,
    decide_failure,
    failed_before,
    settle,
    try_again,
    why_not_again,
    with_node,
)
from footplate.domain.records import Cause, NodeRecord, NodeState, Outcome, RunRecord, Stage, Waiting
from footplate.domain.run_kinds import kind_of
from footplate.domain.run_status import BEFORE_START, ENDED_NODES, OVER_NODES, held_gpus, is_equipped, is_ready, status
from footplate.errors import InvalidTransition

_SAME_MISHAP_SECONDS = 15.0
_NOT_ADMITTED = (
    "run {id} is of the kind {kind!r}, which does not admit {event}",
    "see what happened to it with: footplate runs show {id}",
)
_SAME_ESTIMATE_SECONDS = 60.0


def apply(record: RunRecord, event: Event, now: float) -> Decision:
    """The record after `event`, one version on, and what is to be done about it.

    An event that says what is known already gives the same record, same version and no effects: agents may repeat
    themselves. An event that the stage does not admit raises InvalidTransition.
    """
    if _completes_again(record, event):
        return record, ()
    if record.stage is Stage.ENDED and not _repeats_the_end(event):
        raise InvalidTransition(
            f"run {record.id} has ended ({status(record)}) and takes no {type(event).__name__}",
            f"see what happened to it with: footplate runs show {record.id}",
        )
    _check_admitted(record, event)
    _check_node(record, event)
    after, effects = _HANDLERS[type(event)](record, event, now)
    if after is record:
        return record, ()
    freed = (ReleaseGpus(),) if held_gpus(record) - held_gpus(after) else ()
    return replace(after, version=record.version + 1), (*effects, *freed)


def resume(record: RunRecord) -> Tuple[Effect, ...]:
    """What a server that has just started must do for a run that it finds in this state."""
    if record.stage is Stage.ENDED or not kind_of(record.spec).has_nodes:
        return ()
    if record.outcome is not None and record.handle is not None:
        return (StopNodes(alive(record)),)
    if record.stage in (Stage.ACCEPTED, Stage.LOCKING):
        return (ResolveEnvironment(),)
    if record.stage is Stage.QUEUED:
        return (ScheduleQueue(),)
    # The last server may have died while it launched, also of a run that was canceled meanwhile: only the engine knows
    # whether agents run, and only a handle can stop them.
    return (LaunchNodes(),) if record.handle is None else ()


_AFTER_THE_END = (
    RunCancelRequested, WarningAdded, NodesLaunched, NodeFinished, RankFailed, NodeExited, NodeWorkersFinished,
    NodeLost, NodeVanished, RunRestarted,
)  # fmt: skip


def _repeats_the_end(event: Event) -> bool:
    """Whether an ended run takes the event: canceling again, or a late report of a node, is not an error."""
    return isinstance(event, _AFTER_THE_END)


def _completes_again(record: RunRecord, event: Event) -> bool:
    completed = record.outcome is not None and record.outcome.kind == "completed"
    return isinstance(event, RunCompleted) and record.stage is Stage.ENDED and completed


def _check_admitted(record: RunRecord, event: Event) -> None:
    kind, name = kind_of(record.spec), type(event).__name__
    if name not in kind.admits:
        what, hint = kind.refusals.get(name, _NOT_ADMITTED)
        raise InvalidTransition(what.format(id=record.id, kind=kind.name, event=name), hint.format(id=record.id))


def _check_node(record: RunRecord, event: Event) -> None:
    node = getattr(event, "node", None)
    if node is not None and not 0 <= node < len(record.nodes):
        has = f"{len(record.nodes)} node{'' if len(record.nodes) == 1 else 's'}"
        raise InvalidTransition(
            f"run {record.id} has {has} and takes no {type(event).__name__} of node {node}",
            f"see what happened to it with: footplate runs show {record.id}",
        )


def _submitted(record: RunRecord, event: RunSubmitted, now: float) -> Decision:
    if record.stage is not Stage.ACCEPTED:
        return record, ()
    if not kind_of(record.spec).has_nodes:
        return replace(record, stage=Stage.RUNNING, started=now), ()
    return replace(record, stage=Stage.LOCKING), (ResolveEnvironment(),)


def _locked(record: RunRecord, event: EnvironmentLocked, now: float) -> Decision:
    if record.stage not in (Stage.ACCEPTED, Stage.LOCKING) or record.outcome is not None:
        return record, ()
    warnings = record.warnings + event.warnings
    return replace(record, stage=Stage.QUEUED, lock=event.lock, warnings=warnings), (ScheduleQueue(),)


def _waits(record: RunRecord, event: WaitReasonChanged, now: float) -> Decision:
    waiting = Waiting(event.reason, event.position)
    if record.stage is not Stage.QUEUED or record.waiting == waiting:
        return record, ()
    return replace(record, waiting=waiting), ()


def _admitted(record: RunRecord, event: RunAdmitted, now: float) -> Decision:
    if record.stage is not Stage.QUEUED:
        return record, ()
    count = record.spec.distribution.node_count
    nodes = tuple(NodeRecord(i, NodeState.LAUNCHED) for i in range(count))
    return replace(record, stage=Stage.PROVISIONING, waiting=None, nodes=nodes), (LaunchNodes(),)


def _launched(record: RunRecord, event: NodesLaunched, now: float) -> Decision:
    if record.handle == event.handle:
        return record, ()
    # A cancel may have come while the engine was starting the agents.
    late = alive(record) if record.outcome is not None and record.stage is not Stage.ENDED else ()
    return replace(record, handle=event.handle), (StopNodes(late),) if late else ()


def _engine_reported(record: RunRecord, event: EngineReported, now: float) -> Decision:
    if record.stage is not Stage.PROVISIONING or record.outcome is not None:
        return record, ()
    after = record
    for node, host in zip(record.nodes, event.hosts):
        if node.state is NodeState.LAUNCHED and host not in (None, node.host):
            after = with_node(after, node.index, host=host)
    reported = Waiting(event.reason, 0, event.estimated_start) if event.reason else None
    if not _is_same_wait(record.waiting, reported):
        after = replace(after, waiting=reported)
    return after, ()


def _is_same_wait(old: Optional[Waiting], new: Optional[Waiting]) -> bool:
    """Whether two reports say the same. Schedulers move their estimates all the time: small steps are not news."""
    if old is None or new is None or old.latest is None or new.latest is None:
        return old == new
    return old.reason == new.reason and abs(old.latest - new.latest) < _SAME_ESTIMATE_SECONDS


def _joined(record: RunRecord, event: NodeJoined, now: float) -> Decision:
    node = record.nodes[event.node]
    if node.state is not NodeState.LAUNCHED:
        return record, ()
    after = with_node(
        record, event.node, state=NodeState.JOINED, host=event.host, address=event.address, info=event.info
    )
    waits = any(other.state is NodeState.LAUNCHED for other in after.nodes)
    return replace(after, waiting=record.waiting if waits else None), ()


def _prepares(record: RunRecord, event: NodeProgressed, now: float) -> Decision:
    node = record.nodes[event.node]
    if node.state not in (NodeState.JOINED, NodeState.PREPARING, NodeState.PREPARED) or node.message == event.message:
        return record, ()
    state = NodeState.PREPARED if node.state is NodeState.PREPARED else NodeState.PREPARING
    after = with_node(record, event.node, state=state, message=event.message)
    return replace(after, stage=Stage.PREPARING), ()


def _equipped(record: RunRecord, event: GpusAssigned, now: float) -> Decision:
    if len(event.gpus) != len(record.nodes) or all(node.gpus is not None for node in record.nodes):
        return record, ()
    after = record
    for node, gpus in enumerate(event.gpus):
        after = with_node(after, node, gpus=gpus, message=None)
    return after, ()


def _prepared(record: RunRecord, event: NodePrepared, now: float) -> Decision:
    node = record.nodes[event.node]
    # An agent that was started again holds other ports than the one before it: right, as long as nobody was told.
    again = node.state is NodeState.PREPARED and node.ports != event.ports and not is_ready(record)
    if node.state not in (NodeState.JOINED, NodeState.PREPARING) and not again:
        return record, ()
    after = with_node(record, event.node, state=NodeState.PREPARED, ports=event.ports)
    missing = ", ".join(str(n.index) for n in after.nodes if n.state in BEFORE_START)
    words = f"ready, waits for node{'s' if ',' in missing else ''} {missing}" if missing else None
    if words is None and not is_equipped(after):
        return replace(after, stage=Stage.PREPARING), ()  # that it waits for GPUs has been said, and holds
    for index in [n.index for n in after.nodes if n.state is NodeState.PREPARED]:
        after = with_node(after, index, message=words)
    return replace(after, stage=Stage.PREPARING), ()


def _started(record: RunRecord, event: NodeStarted, now: float) -> Decision:
    if record.nodes[event.node].state not in (NodeState.JOINED, NodeState.PREPARING, NodeState.PREPARED):
        return record, ()
    after = with_node(record, event.node, state=NodeState.RUNNING, message=None)
    # A node may have ended already when the last one starts: the run has run nevertheless.
    if all(n.state in (NodeState.RUNNING, NodeState.ATTENDING, *ENDED_NODES) for n in after.nodes):
        return replace(after, stage=Stage.RUNNING, started=now), ()
    return replace(after, stage=Stage.PREPARING), ()


def _attends(record: RunRecord, event: NodeWorkersFinished, now: float) -> Decision:
    if record.stage is Stage.ENDED or record.nodes[event.node].state in (NodeState.ATTENDING, *ENDED_NODES):
        return record, ()
    after = with_node(record, event.node, state=NodeState.ATTENDING, message="serves the others until they are done")
    return complete_if_all_ended(after, now)


def _exited(record: RunRecord, event: NodeExited, now: float) -> Decision:
    if record.stage is Stage.ENDED or record.nodes[event.node].state in ENDED_NODES:
        return record, ()
    after = with_node(record, event.node, state=NodeState.EXITED, message="shipping what is left")
    if event.cause is not None:
        return decide_failure(after, event.cause, now)
    return complete_if_all_ended(after, now)


def _rank_failed(record: RunRecord, event: RankFailed, now: float) -> Decision:
    if record.nodes[event.node].state in ENDED_NODES:
        return record, ()
    if record.outcome is not None and not failed_before(event.cause, record.outcome):
        return record, ()
    return decide_failure(record, event.cause, now)


def _done(record: RunRecord, event: NodeFinished, now: float) -> Decision:
    if record.stage is Stage.ENDED or record.nodes[event.node].state in OVER_NODES:
        return record, ()
    after = with_node(record, event.node, state=NodeState.DONE, message=None)
    if after.outcome is None and all(n.state in OVER_NODES for n in after.nodes):
        after = replace(after, outcome=Outcome("completed"))
    return settle(after, now, ())


def _lost(record: RunRecord, event: NodeLost, now: float) -> Decision:
    if record.stage is Stage.ENDED or record.nodes[event.node].state in OVER_NODES:
        return record, ()
    after = with_node(record, event.node, state=NodeState.LOST, message=event.cause.message)
    if after.outcome is not None and after.outcome.kind == "completed":
        # Its ranks ended well, but what they made did not all arrive: that is not a completed run.
        after = replace(after, outcome=None)
    return decide(after, Outcome("failed", event.cause), now)


def _vanished(record: RunRecord, event: NodeVanished, now: float) -> Decision:
    running = record.nodes[event.node].state in (NodeState.RUNNING, NodeState.ATTENDING)
    if record.stage is Stage.ENDED or not running or len(record.nodes) == 1:
        return record, ()
    known = record.outcome.cause if record.outcome is not None and record.outcome.kind == "failed" else None
    if known is not None and known != event.cause and known.rank is not None and known.node != event.node:
        if now - (known.time or now) > _SAME_MISHAP_SECONDS:
            return record, ()
        # Ranks fail because a node is gone, never a node because ranks failed: their word was only faster.
        return replace(record, outcome=Outcome("failed", event.cause)), ()
    return (record, ()) if record.outcome is not None else decide(record, Outcome("failed", event.cause), now)


def _fails(record: RunRecord, event: RunFailed, now: float) -> Decision:
    if record.outcome is not None:
        return record, ()
    after = record
    if record.handle is None:
        # The launch failed, or has not been heard of yet: nobody will ever speak for these nodes. An agent that does
        # turn up is sent away when it joins.
        for node in record.nodes:
            if node.state is NodeState.LAUNCHED:
                after = with_node(after, node.index, state=NodeState.LOST, message=event.cause.message)
    return decide(after, Outcome("failed", event.cause), now)


def _cancel_asked(record: RunRecord, event: RunCancelRequested, now: float) -> Decision:
    if record.outcome is not None or record.stage is Stage.ENDED:
        return record, ()
    words = f"canceled by {event.by or 'the user'}" + (f": {event.reason}" if event.reason else "")
    return decide(record, Outcome("canceled", Cause("canceled", words)), now)


def _completes(record: RunRecord, event: RunCompleted, now: float) -> Decision:
    if record.stage is Stage.ENDED:
        return record, ()
    return decide(record, Outcome("completed"), now)


def _restarted(record: RunRecord, event: RunRestarted, now: float) -> Decision:
    if event.attempt <= record.attempt:
        return record, ()  # it has been done
    if event.attempt > record.attempt + 1:
        raise InvalidTransition(
            f"run {record.id} is at attempt {record.attempt} and takes no attempt {event.attempt}",
            f"its next attempt is {record.attempt + 1}",
        )
    refusal = why_not_again(record)
    if refusal is not None:
        raise InvalidTransition(*refusal)
    return try_again(record, ())


def _warned(record: RunRecord, event: WarningAdded, now: float) -> Decision:
    if event.message in record.warnings:
        return record, ()
    return replace(record, warnings=(*record.warnings, event.message)), ()


_HANDLERS: Dict[type, Callable[[RunRecord, Any, float], Decision]] = {
    RunSubmitted: _submitted,
    EnvironmentLocked: _locked,
    WaitReasonChanged: _waits,
    RunAdmitted: _admitted,
    NodesLaunched: _launched,
    EngineReported: _engine_reported,
    NodeJoined: _joined,
    NodeProgressed: _prepares,
    GpusAssigned: _equipped,
    NodePrepared: _prepared,
    NodeStarted: _started,
    NodeWorkersFinished: _attends,
    RankFailed: _rank_failed,
    NodeExited: _exited,
    NodeFinished: _done,
    NodeLost: _lost,
    NodeVanished: _vanished,
    RunFailed: _fails,
    RunCancelRequested: _cancel_asked,
    RunCompleted: _completes,
    RunRestarted: _restarted,
    WarningAdded: _warned,
}
