"""The life of a group, event by event."""

from __future__ import annotations

import pytest

from footplate.domain.orders import Cause, Program
from footplate.domain.records import Outcome, RunRecord, Stage
from footplate.domain.runs.controllers import (
    GroupCancelRequested,
    GroupClosed,
    GroupDecision,
    GroupResumed,
    ScaleRequested,
    SubmitChild,
    TimeReached,
)
from footplate.domain.runs.events import (
    ChildrenFinished,
    ConsultController,
    EndChildren,
    Event,
    GroupDecided,
    GroupScaled,
    NotifyParent,
    OrderChildren,
    RunCancelRequested,
    RunCompleted,
    RunFailed,
    RunRestarted,
    RunSubmitted,
    WakeRun,
    WakeTimeReached,
)
from footplate.domain.runs.group_transitions import group_state
from footplate.domain.runs.lifecycle import apply, resume
from footplate.domain.runs.run_status import status
from footplate.domain.specs import ControllerSpec, RunSpec
from footplate.errors import InvalidTransition

JOB = RunSpec("e", program=Program(script="s.py"))
SUBMIT = GroupDecision({"asked": 1}, submit=(SubmitChild("a", JOB),))
END = GroupDecision({"asked": 1}, end=Outcome("completed"))


def accepted(parent: str | None = None) -> RunRecord:
    spec = RunSpec("e", "group", controller=ControllerSpec("completes_with_children"), parent=parent)
    return RunRecord("g", "w", spec, Stage.ACCEPTED, created=1.0)


def after(record: RunRecord, *events: Event) -> RunRecord:
    for now, event in enumerate(events, start=10):
        record, _ = apply(record, event, float(now))
    return record


def test_a_group_runs_at_once_and_consults_its_controller() -> None:
    record, effects = apply(accepted(), RunSubmitted(), 2.0)
    assert (status(record), record.started) == ("Running", 2.0)
    assert effects == (ConsultController(GroupResumed()),)


def test_a_decision_is_recorded_before_its_orders_are_performed() -> None:
    record, effects = apply(after(accepted(), RunSubmitted()), GroupDecided(SUBMIT), 3.0)
    assert group_state(record).decision == SUBMIT
    assert effects == (OrderChildren(),)
    assert apply(record, GroupDecided(SUBMIT), 4.0) == (record, ())


def test_a_restarted_server_repeats_the_last_orders() -> None:
    record = after(accepted(), RunSubmitted(), GroupDecided(SUBMIT))
    assert resume(record) == (OrderChildren(), ConsultController(GroupResumed()))
    assert resume(after(record, GroupDecided(END))) == (EndChildren(),)


def test_the_controller_is_woken_at_its_time() -> None:
    record, effects = apply(after(accepted(), RunSubmitted()), GroupDecided(GroupDecision(wake_at=50.0)), 3.0)
    assert effects == (WakeRun(50.0),)
    assert WakeRun(50.0) in resume(record)
    woken, effects = apply(record, WakeTimeReached(50.0), 50.0)
    assert (woken.wake_at, effects) == (None, (ConsultController(TimeReached()),))


def test_a_group_ends_when_its_children_have_ended() -> None:
    record, effects = apply(after(accepted("parent"), RunSubmitted()), GroupDecided(END), 3.0)
    assert (status(record), effects) == ("Running", (EndChildren(),))
    ended, effects = apply(record, ChildrenFinished(), 4.0)
    assert (status(ended), ended.ended, effects) == ("Completed", 4.0, (NotifyParent(),))


@pytest.mark.parametrize(
    ("event", "shown", "outcome"),
    [(RunCancelRequested("ada"), "CancelRequested", "Canceled"), (RunFailed(Cause("x", "x")), "Running", "Failed")],
)
def test_a_group_that_is_ended_early_waits_for_its_children(event: Event, shown: str, outcome: str) -> None:
    record, effects = apply(after(accepted(), RunSubmitted(), GroupDecided(SUBMIT)), event, 3.0)
    assert status(record) == shown
    assert effects == (ConsultController(GroupCancelRequested()), EndChildren())
    late = after(record, GroupDecided(END))
    assert group_state(late).decision.end is None, "the outcome is decided"
    assert status(after(late, ChildrenFinished())) == outcome


def test_closing_is_recorded_and_reported_once() -> None:
    record, effects = apply(after(accepted(), RunSubmitted()), RunCompleted(), 3.0)
    assert group_state(record).closed
    assert effects == (ConsultController(GroupClosed()),)
    assert apply(record, RunCompleted(), 4.0) == (record, ())


def test_a_restarted_group_keeps_the_state_of_its_controller() -> None:
    ended = after(accepted(), RunSubmitted(), GroupDecided(SUBMIT), RunCancelRequested(), ChildrenFinished())
    again, effects = apply(ended, RunRestarted(2), 20.0)
    assert (again.attempt, status(again), effects) == (2, "Running", (ConsultController(GroupResumed()),))
    assert group_state(again).decision == GroupDecision({"asked": 1})


def test_only_groups_admit_decisions() -> None:
    job = RunRecord("r", "w", JOB, Stage.ACCEPTED, created=1.0)
    with pytest.raises(InvalidTransition, match="of the kind 'job', which does not admit GroupDecided"):
        apply(job, GroupDecided(END), 2.0)


def test_another_number_of_replicas_is_put_to_the_controller_once() -> None:
    record, effects = apply(after(accepted(), RunSubmitted()), GroupScaled(3), 3.0)
    assert effects == (ConsultController(ScaleRequested()),)
    assert group_state(record).replicas == 3
    assert apply(record, GroupScaled(3), 4.0) == (record, ())
    ended = after(record, GroupDecided(END))
    assert apply(ended, GroupScaled(1), 5.0) == (ended, ())
