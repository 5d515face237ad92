"""Transitions of a group: one function per event that only groups have. `lifecycle` calls them."""

from __future__ import annotations

from dataclasses import replace
from typing import Tuple

from footplate.domain.codec import from_json, to_json
from footplate.domain.records import Outcome, RunRecord, Stage
from footplate.domain.runs import controllers, events
from footplate.domain.runs.controllers import GroupDecision, GroupState
from footplate.domain.runs.events import Effect
from footplate.domain.runs.restarts import Decision


def group_state(record: RunRecord) -> GroupState:
    """Return the controller's part of the record."""
    return GroupState() if record.group is None else from_json(GroupState, record.group)


def on_submitted(record: RunRecord, event: events.RunSubmitted, now: float) -> Decision:
    if record.stage is not Stage.ACCEPTED:
        return record, ()
    after = replace(record, stage=Stage.RUNNING, started=now, group=to_json(GroupState()))
    return after, (events.ConsultController(controllers.GroupResumed()),)


def begin_attempt(record: RunRecord, now: float) -> Decision:
    """Run an ended group again, with its state and its children. The orders of the last decision are done."""
    state = group_state(record)
    again = replace(state, decision=GroupDecision(state.decision.state))
    after = replace(
        record, attempt=record.attempt + 1, stage=Stage.RUNNING, started=now, ended=None, outcome=None,
        group=to_json(again),
    )  # fmt: skip
    return after, (events.ConsultController(controllers.GroupResumed()),)


def on_decided(record: RunRecord, event: events.GroupDecided, now: float) -> Decision:
    state = group_state(record)
    decision = replace(event.decision, notes=(), log=())  # the story keeps those
    if record.outcome is not None:  # it ends: only the controller's memory may still change
        decision = replace(state.decision, state=decision.state)
    if state.decision == decision and not event.decision.notes:
        return record, ()
    if record.outcome is not None:
        return replace(record, group=to_json(replace(state, decision=decision))), ()
    after = replace(
        record, group=to_json(replace(state, decision=decision)), outcome=decision.end, wake_at=decision.wake_at
    )
    if decision.end is not None:
        return replace(after, wake_at=None), (events.EndChildren(),)
    orders: Tuple[Effect, ...] = (events.OrderChildren(),) if decision.has_orders else ()
    if decision.wake_at is not None and decision.wake_at != record.wake_at:
        orders = (*orders, events.WakeRun(decision.wake_at))
    return after, orders


def on_closed(record: RunRecord, event: events.RunCompleted, now: float) -> Decision:
    state = group_state(record)
    if state.closed or record.outcome is not None:
        return record, ()
    after = replace(record, group=to_json(replace(state, closed=True)))
    return after, (events.ConsultController(controllers.GroupClosed()),)


def on_scaled(record: RunRecord, event: events.GroupScaled, now: float) -> Decision:
    state = group_state(record)
    if record.outcome is not None or state.replicas == event.replicas:
        return record, ()
    after = replace(record, group=to_json(replace(state, replicas=event.replicas)))
    return after, (events.ConsultController(controllers.ScaleRequested()),)


def on_woken(record: RunRecord, event: events.WakeTimeReached, now: float) -> Decision:
    if record.wake_at is None or record.wake_at != event.at:
        return record, ()
    return replace(record, wake_at=None), (events.ConsultController(controllers.TimeReached()),)


def end(record: RunRecord, outcome: Outcome) -> Decision:
    """Decide the outcome: the group ends when its children have ended."""
    after = replace(record, outcome=outcome, wake_at=None)
    return after, (events.ConsultController(controllers.GroupCancelRequested()), events.EndChildren())


def on_children_finished(record: RunRecord, event: events.ChildrenFinished, now: float) -> Decision:
    if record.outcome is None or record.stage is Stage.ENDED:
        return record, ()
    return replace(record, stage=Stage.ENDED, ended=now), ()


def resume(record: RunRecord) -> Tuple[Effect, ...]:
    """Return the effects that a restarted server performs again for an active group."""
    if record.outcome is not None:
        return (events.EndChildren(),)
    effects: Tuple[Effect, ...] = (events.OrderChildren(), events.ConsultController(controllers.GroupResumed()))
    return effects if record.wake_at is None else (*effects, events.WakeRun(record.wake_at))
