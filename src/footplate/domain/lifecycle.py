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
from typing import Any, Callable, Dict, Tuple

from footplate.domain import group_transitions, node_transitions
from footplate.domain.events import (
    AgentsMissing,
    ChildrenFinished,
    Effect,
    EngineReported,
    EnvironmentLocked,
    Event,
    GpusAssigned,
    GroupDecided,
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
    NotifyParent,
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
    WakeRun,
    WakeTimeReached,
    WarningAdded,
)
from footplate.domain.outcomes import alive, decide, with_node
from footplate.domain.records import Cause, NodeRecord, NodeState, Outcome, RunRecord, Stage, Waiting
from footplate.domain.restarts import Decision, begin_attempt, enter_queue, why_not_again
from footplate.domain.run_kinds import kind_of
from footplate.domain.run_status import held_gpus, status
from footplate.errors import InvalidTransition

_NOT_ADMITTED = (
    "run {id} is of the kind {kind!r}, which does not admit {event}",
    "see what happened to it with: footplate runs show {id}",
)


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
    handlers = _GROUP_HANDLERS if kind_of(record.spec).ended_by == "controller" else _HANDLERS
    after, effects = handlers[type(event)](record, event, now)
    if after is record:
        return record, ()
    freed = (ReleaseGpus(),) if held_gpus(record) - held_gpus(after) else ()
    ended = after.stage is Stage.ENDED and record.stage is not Stage.ENDED and record.spec.parent is not None
    return replace(after, version=record.version + 1), (*effects, *freed, *((NotifyParent(),) if ended else ()))


def resume(record: RunRecord) -> Tuple[Effect, ...]:
    """What a server that has just started must do for a run that it finds in this state."""
    ended_by = kind_of(record.spec).ended_by
    if record.stage is Stage.ENDED or ended_by == "client":
        return ()
    if ended_by == "controller":
        return group_transitions.resume(record)
    if record.outcome is not None and record.handle is not None:
        return (StopNodes(alive(record)),)
    if record.wake_at is not None:
        return (WakeRun(record.wake_at),)
    if record.stage in (Stage.ACCEPTED, Stage.LOCKING):
        return (ResolveEnvironment(),)
    if record.stage is Stage.QUEUED:
        return (ScheduleQueue(),)
    # The last server may have died while it launched, also of a run that was canceled meanwhile: only the engine knows
    # whether agents run, and only a handle can stop them.
    return (LaunchNodes(),) if record.handle is None else ()


_AFTER_THE_END = (
    RunCancelRequested, WarningAdded, NodesLaunched, NodeFinished, RankFailed, NodeExited, NodeWorkersFinished,
    NodeLost, NodeVanished, AgentsMissing, RunRestarted, WakeTimeReached,
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
    concerned = event.nodes if isinstance(event, AgentsMissing) else (getattr(event, "node", None),)
    node = next((node for node in concerned if node is not None and not 0 <= node < len(record.nodes)), None)
    if node is not None:
        has = f"{len(record.nodes)} node{'' if len(record.nodes) == 1 else 's'}"
        raise InvalidTransition(
            f"run {record.id} has {has} and takes no {type(event).__name__} of node {node}",
            f"see what happened to it with: footplate runs show {record.id}",
        )


def _run_submitted(record: RunRecord, event: RunSubmitted, now: float) -> Decision:
    if record.stage is not Stage.ACCEPTED:
        return record, ()
    if not kind_of(record.spec).has_nodes:
        return replace(record, stage=Stage.RUNNING, started=now), ()
    return replace(record, stage=Stage.LOCKING), (ResolveEnvironment(),)


def _environment_locked(record: RunRecord, event: EnvironmentLocked, now: float) -> Decision:
    if record.stage not in (Stage.ACCEPTED, Stage.LOCKING) or record.outcome is not None:
        return record, ()
    warnings = record.warnings + event.warnings
    return replace(record, stage=Stage.QUEUED, lock=event.lock, warnings=warnings), (ScheduleQueue(),)


def _wait_reason_changed(record: RunRecord, event: WaitReasonChanged, now: float) -> Decision:
    waiting = Waiting(event.reason, event.position)
    if record.stage is not Stage.QUEUED or record.waiting == waiting:
        return record, ()
    return replace(record, waiting=waiting), ()


def _run_admitted(record: RunRecord, event: RunAdmitted, now: float) -> Decision:
    if record.stage is not Stage.QUEUED:
        return record, ()
    count = record.spec.distribution.node_count
    nodes = tuple(NodeRecord(i, NodeState.LAUNCHED) for i in range(count))
    return replace(record, stage=Stage.PROVISIONING, waiting=None, nodes=nodes), (LaunchNodes(),)


def _run_failed(record: RunRecord, event: RunFailed, now: float) -> Decision:
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


def _cancel_requested(record: RunRecord, event: RunCancelRequested, now: float) -> Decision:
    if record.outcome is not None or record.stage is Stage.ENDED:
        return record, ()
    words = f"canceled by {event.by or 'the user'}" + (f": {event.reason}" if event.reason else "")
    return decide(record, Outcome("canceled", Cause("canceled", words)), now)


def _run_completed(record: RunRecord, event: RunCompleted, now: float) -> Decision:
    if record.stage is Stage.ENDED:
        return record, ()
    return decide(record, Outcome("completed"), now)


def _run_restarted(record: RunRecord, event: RunRestarted, now: float) -> Decision:
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
    if kind_of(record.spec).ended_by == "controller":
        return group_transitions.begin_attempt(record, now)
    return begin_attempt(record, (), now)


def _wake_time_reached(record: RunRecord, event: WakeTimeReached, now: float) -> Decision:
    if record.wake_at is None or record.wake_at != event.at:
        return record, ()  # an earlier wish
    return enter_queue(record)


def _warning_added(record: RunRecord, event: WarningAdded, now: float) -> Decision:
    if event.message in record.warnings:
        return record, ()
    return replace(record, warnings=(*record.warnings, event.message)), ()


_HANDLERS: Dict[type, Callable[[RunRecord, Any, float], Decision]] = {
    RunSubmitted: _run_submitted,
    EnvironmentLocked: _environment_locked,
    WaitReasonChanged: _wait_reason_changed,
    RunAdmitted: _run_admitted,
    NodesLaunched: node_transitions.launched,
    EngineReported: node_transitions.engine_reported,
    NodeJoined: node_transitions.joined,
    NodeProgressed: node_transitions.progressed,
    GpusAssigned: node_transitions.gpus_assigned,
    NodePrepared: node_transitions.prepared,
    NodeStarted: node_transitions.started,
    NodeWorkersFinished: node_transitions.workers_finished,
    RankFailed: node_transitions.rank_failed,
    NodeExited: node_transitions.exited,
    NodeFinished: node_transitions.finished,
    NodeLost: node_transitions.lost,
    NodeVanished: node_transitions.vanished,
    AgentsMissing: node_transitions.agents_missing,
    RunFailed: _run_failed,
    RunCancelRequested: _cancel_requested,
    RunCompleted: _run_completed,
    RunRestarted: _run_restarted,
    WakeTimeReached: _wake_time_reached,
    WarningAdded: _warning_added,
}

_GROUP_HANDLERS: Dict[type, Callable[[RunRecord, Any, float], Decision]] = {
    **_HANDLERS,
    RunSubmitted: group_transitions.begin,
    RunCompleted: group_transitions.closed,
    WakeTimeReached: group_transitions.woken,
    GroupDecided: group_transitions.decided,
    ChildrenFinished: group_transitions.children_finished,
}
