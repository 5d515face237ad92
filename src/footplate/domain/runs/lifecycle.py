"""The life of a run as a pure function: `apply(record, event, now)` returns the new record and the effects.

      RunSubmitted    EnvironmentLocked    RunAdmitted                      NodeStarted (all nodes)
  ACCEPTED ──────▶ LOCKING ────────▶ QUEUED ────────▶ PROVISIONING ▶ PREPARING ──────────▶ RUNNING
                    ▲ another attempt  ▲                                                      │ NodeExited (all nodes)
                    └──── BACKOFF ─────┘             ENDED ◀─────────── FINALIZING ◀──────────┘
                                                         NodeFinished (all nodes)

  a node:  LAUNCHED ▶ JOINED ▶ PREPARING ▶ PREPARED ▶ RUNNING ▶ (ATTENDING ▶) EXITED ▶ DONE, or LOST
           PREPARED waits until all nodes are: a gang starts together. ATTENDING has only parameter servers left.
           If only node 0 can tell what can be installed there (EnvironmentDeferred), the run goes from LOCKING to
           QUEUED without a lock; EnvironmentLocked comes after node 0 has joined, and all nodes wait for it.
  others:  an interactive run and a group go from ACCEPTED to RUNNING to ENDED. A group ends after its children.

The first event that decides the outcome (a failed rank, a cancel, a lost node, a time limit, the last rank that
succeeds) decides it for good, with four exceptions. A node that is lost while it ships makes a completed run a failed
one. Of several failed ranks, the first to fail is the cause, even if another node reported earlier. And a vanished node
is the cause, not the ranks elsewhere that failed because of it. Agents that received a signal to stop do not know why:
the run waits until the engine reports that (EngineEnded), and its reason is the cause. A run ends when its outcome is
decided and every node is over.

A run that failed or was canceled can be restarted under its id: the next attempt begins in the queue, with the
environment that the first one resolved. The restart policy of the spec (`restarts`) begins further attempts by itself.
Agents that die are started again a few times (`node_transitions.on_agents_missing`); the record counts how often.

Which events a run admits depends on its kind (`run_kinds`). Effects are idempotent; `resume(record)` returns the
effects that a restarted server must perform again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Dict, Tuple

from footplate.domain.orders import Cause
from footplate.domain.records import NodeRecord, NodeState, Outcome, RunRecord, Stage, Waiting
from footplate.domain.runs import events, group_transitions, node_transitions
from footplate.domain.runs.events import Effect, Event
from footplate.domain.runs.outcomes import decide, with_node, working
from footplate.domain.runs.restarts import Decision, begin_attempt, enter_queue, why_not_again
from footplate.domain.runs.run_kinds import kind_of
from footplate.domain.runs.run_status import awaits_engine, awaits_lock, held_gpus, status
from footplate.domain.text import counted
from footplate.errors import InvalidTransition

_NOT_ADMITTED = (
    "run {id} is of the kind {kind!r}, which does not admit {event}",
    "see what happened to it with: footplate runs show {id}",
)


def apply(record: RunRecord, event: Event, now: float) -> Decision:
    """Return the record after `event`, one version on, and the effects to perform.

    An event that changes nothing returns the same record, with the same version and no effects: agents may repeat
    reports. An event that the run does not admit raises InvalidTransition.
    """
    has_completed = record.stage is Stage.ENDED and record.outcome is not None and record.outcome.kind == "completed"
    if has_completed and isinstance(event, events.RunCompleted):
        return record, ()
    if record.stage is Stage.ENDED and type(event).__name__ not in _AFTER_THE_END:
        raise InvalidTransition(
            f"run {record.id} has ended ({status(record)}) and does not admit {type(event).__name__}",
            f"see what happened to it with: footplate runs show {record.id}",
        )
    _check_admitted(record, event)
    _check_node(record, event)
    handlers = _GROUP_HANDLERS if kind_of(record.spec).ended_by == "controller" else _HANDLERS
    after, effects = handlers[type(event)](record, event, now)
    if after is record:
        return record, ()
    freed = (events.ReleaseGpus(),) if held_gpus(record) - held_gpus(after) else ()
    return replace(after, version=record.version + 1), (*effects, *freed, *_at_the_end(record, after))


def _at_the_end(record: RunRecord, after: RunRecord) -> Tuple[Effect, ...]:
    if after.stage is not Stage.ENDED or record.stage is Stage.ENDED:
        return ()
    parent: Tuple[Effect, ...] = () if record.spec.parent is None else (events.NotifyParent(),)
    people: Tuple[Effect, ...] = (events.AnnounceEnd(),) if record.spec.notify or record.spec.parent is None else ()
    return (*parent, *people)


def resume(record: RunRecord) -> Tuple[Effect, ...]:
    """Return the effects that a server which has just started must perform for a run in this state."""
    ended_by = kind_of(record.spec).ended_by
    if record.stage is Stage.ENDED or ended_by == "client":
        return ()
    if ended_by == "controller":
        return group_transitions.resume(record)
    if record.outcome is not None and record.handle is not None:
        return (events.StopNodes(working(record)),) if working(record) and not awaits_engine(record) else ()
    if record.wake_at is not None:
        return (events.WakeRun(record.wake_at),)
    if record.stage in (Stage.ACCEPTED, Stage.LOCKING):
        return (events.ResolveEnvironment(),)
    if record.stage is Stage.QUEUED:
        return (events.ScheduleQueue(),)
    # The last server may have died during the launch, even of a run that was canceled meanwhile. Only the engine knows
    # whether agents run, and only a handle can stop them.
    resolve: Tuple[Effect, ...] = (events.ResolveEnvironment(),) if awaits_lock(record) else ()
    return (*resolve, events.LaunchNodes()) if record.handle is None else resolve


_AFTER_THE_END = frozenset({
    "RunCancelRequested", "WarningAdded", "NodesLaunched", "NodeFinished", "RankFailed", "NodeExited",
    "NodeWorkersFinished", "NodeLost", "NodeVanished", "AgentsMissing", "EngineEnded", "RunRestarted",
    "WakeTimeReached", "StatusReported",
})  # fmt: skip
"""Events that an ended run accepts: canceling again, or a late report of a node, is not an error."""


def _check_admitted(record: RunRecord, event: Event) -> None:
    kind = kind_of(record.spec)
    name = type(event).__name__
    if name not in kind.admits:
        what, hint = kind.refusals.get(name, _NOT_ADMITTED)
        raise InvalidTransition(what.format(id=record.id, kind=kind.name, event=name), hint.format(id=record.id))


def _check_node(record: RunRecord, event: Event) -> None:
    concerned = event.nodes if isinstance(event, events.AgentsMissing) else (getattr(event, "node", None),)
    node = next((node for node in concerned if node is not None and not 0 <= node < len(record.nodes)), None)
    if node is not None:
        has = counted(len(record.nodes), "node")
        raise InvalidTransition(
            f"run {record.id} has {has} and does not admit {type(event).__name__} of node {node}",
            f"see what happened to it with: footplate runs show {record.id}",
        )


def _on_run_submitted(record: RunRecord, event: events.RunSubmitted, now: float) -> Decision:
    if record.stage is not Stage.ACCEPTED:
        return record, ()
    if not kind_of(record.spec).has_nodes:
        return replace(record, stage=Stage.RUNNING, started=now), ()
    return replace(record, stage=Stage.LOCKING), (events.ResolveEnvironment(),)


def _on_environment_locked(record: RunRecord, event: events.EnvironmentLocked, now: float) -> Decision:
    if record.lock is not None or record.outcome is not None:
        return record, ()
    warnings = record.warnings + event.warnings
    if awaits_lock(record):
        return replace(node_transitions.clear_resolving(record), lock=event.lock, warnings=warnings), ()
    if record.stage not in (Stage.ACCEPTED, Stage.LOCKING):
        return record, ()
    return replace(record, stage=Stage.QUEUED, lock=event.lock, warnings=warnings), (events.ScheduleQueue(),)


def _on_environment_deferred(record: RunRecord, event: events.EnvironmentDeferred, now: float) -> Decision:
    if record.stage is not Stage.LOCKING or record.outcome is not None:
        return record, ()
    return replace(record, stage=Stage.QUEUED), (events.ScheduleQueue(),)


def _on_wait_reason_changed(record: RunRecord, event: events.WaitReasonChanged, now: float) -> Decision:
    waiting = Waiting(event.reason, event.position)
    if record.stage is not Stage.QUEUED or record.waiting == waiting:
        return record, ()
    return replace(record, waiting=waiting), ()


def _on_run_admitted(record: RunRecord, event: events.RunAdmitted, now: float) -> Decision:
    if record.stage is not Stage.QUEUED:
        return record, ()
    count = record.spec.distribution.node_count
    nodes = tuple(NodeRecord(i, NodeState.LAUNCHED) for i in range(count))
    return replace(record, stage=Stage.PROVISIONING, waiting=None, nodes=nodes), (events.LaunchNodes(is_first=True),)


def _on_run_failed(record: RunRecord, event: events.RunFailed, now: float) -> Decision:
    if record.outcome is not None:
        return record, ()
    after = record
    if record.handle is None:
        # The launch failed or is not confirmed yet: these nodes will never report. An agent that does turn up is sent
        # away when it joins.
        for node in record.nodes:
            if node.state is NodeState.LAUNCHED:
                after = with_node(after, node.index, state=NodeState.LOST, message=event.cause.message)
    return decide(after, Outcome("failed", event.cause), now)


def _on_cancel_requested(record: RunRecord, event: events.RunCancelRequested, now: float) -> Decision:
    if awaits_engine(record):
        record = replace(record, outcome=None)
    if record.outcome is not None or record.stage is Stage.ENDED:
        return record, ()
    cause = Cause("canceled", f"canceled by {events.who_and_why(event)}")
    return decide(record, Outcome("canceled", cause), now)


def _on_run_completed(record: RunRecord, event: events.RunCompleted, now: float) -> Decision:
    if record.stage is Stage.ENDED:
        return record, ()
    return decide(record, Outcome("completed"), now)


_REPORTED = {"Completed": "completed", "Failed": "failed", "Canceled": "canceled"}


def _on_status_reported(record: RunRecord, event: events.StatusReported, now: float) -> Decision:
    begun = replace(record, started=now if record.started is None else record.started)
    effects: Tuple[Effect, ...] = ()
    if event.status == "Running":
        after = replace(begun, stage=Stage.RUNNING, outcome=None, ended=None)
    elif event.status is None:
        is_fixed = record.outcome is None or event.ended is None
        after = record if is_fixed else replace(record, ended=event.ended)
    else:
        kind = _REPORTED[event.status]
        cause = None if kind == "completed" else Cause(kind, f"its client reported it as {event.status}")
        ended = now if record.ended is None else record.ended
        ended = ended if event.ended is None else event.ended
        after = replace(begun, stage=Stage.ENDED, outcome=Outcome(kind, cause), ended=ended)
        effects = () if record.stage is Stage.ENDED else (events.ForgetNodes(),)
    return (record, ()) if after == record else (after, effects)


def _on_run_restarted(record: RunRecord, event: events.RunRestarted, now: float) -> Decision:
    if event.attempt <= record.attempt:
        return record, ()  # this attempt exists
    if event.attempt > record.attempt + 1:
        raise InvalidTransition(
            f"run {record.id} is at attempt {record.attempt} and cannot begin attempt {event.attempt}",
            f"its next attempt is {record.attempt + 1}",
        )
    refusal = why_not_again(record)
    if refusal is not None:
        raise InvalidTransition(*refusal)
    if kind_of(record.spec).ended_by == "controller":
        return group_transitions.begin_attempt(record, now)
    return begin_attempt(record, (), now)


def _on_wake_time_reached(record: RunRecord, event: events.WakeTimeReached, now: float) -> Decision:
    if record.wake_at is None or record.wake_at != event.at:
        return record, ()  # an earlier alarm
    return enter_queue(record)


def _on_warning_added(record: RunRecord, event: events.WarningAdded, now: float) -> Decision:
    if event.message in record.warnings:
        return record, ()
    return replace(record, warnings=(*record.warnings, event.message)), ()


_HANDLERS: Dict[type, Callable[[RunRecord, Any, float], Decision]] = {
    events.RunSubmitted: _on_run_submitted,
    events.EnvironmentLocked: _on_environment_locked,
    events.EnvironmentDeferred: _on_environment_deferred,
    events.WaitReasonChanged: _on_wait_reason_changed,
    events.RunAdmitted: _on_run_admitted,
    events.NodesLaunched: node_transitions.on_launched,
    events.EngineReported: node_transitions.on_engine_reported,
    events.NodeJoined: node_transitions.on_joined,
    events.NodeProgressed: node_transitions.on_progressed,
    events.GpusAssigned: node_transitions.on_gpus_assigned,
    events.NodePrepared: node_transitions.on_prepared,
    events.NodeStarted: node_transitions.on_started,
    events.NodeWorkersFinished: node_transitions.on_workers_finished,
    events.RankFailed: node_transitions.on_rank_failed,
    events.NodeExited: node_transitions.on_exited,
    events.NodeFinished: node_transitions.on_finished,
    events.NodeLost: node_transitions.on_lost,
    events.NodeVanished: node_transitions.on_vanished,
    events.AgentsMissing: node_transitions.on_agents_missing,
    events.EngineEnded: node_transitions.on_engine_ended,
    events.RunFailed: _on_run_failed,
    events.RunCancelRequested: _on_cancel_requested,
    events.RunCompleted: _on_run_completed,
    events.StatusReported: _on_status_reported,
    events.RunRestarted: _on_run_restarted,
    events.WakeTimeReached: _on_wake_time_reached,
    events.WarningAdded: _on_warning_added,
}

_GROUP_HANDLERS: Dict[type, Callable[[RunRecord, Any, float], Decision]] = {
    **_HANDLERS,
    events.RunSubmitted: group_transitions.on_submitted,
    events.RunCompleted: group_transitions.on_closed,
    events.WakeTimeReached: group_transitions.on_woken,
    events.GroupScaled: group_transitions.on_scaled,
    events.GroupDecided: group_transitions.on_decided,
    events.ChildrenFinished: group_transitions.on_children_finished,
}
