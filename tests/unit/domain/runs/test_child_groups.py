"""The controller `completes_with_children`, decision by decision."""

from __future__ import annotations

import pytest

from footplate.domain.orders import Cause, Program
from footplate.domain.records import Outcome
from footplate.domain.runs.child_groups import CompletesWithChildren
from footplate.domain.runs.controllers import (
    Child,
    ChildEnded,
    ChildRefused,
    Group,
    GroupClosed,
    GroupDecision,
    GroupResumed,
    RestartChild,
    SubmitChild,
)
from footplate.domain.specs import ControllerSpec, RunSpec
from footplate.errors import InvalidInput

JOB = RunSpec("e", program=Program(script="s.py"))
SPEC = ControllerSpec("completes_with_children", children={"a": JOB, "b": JOB})
OPEN = ControllerSpec("completes_with_children", {"open": True})


def group(spec: ControllerSpec = SPEC, attempt: int = 1, closed: bool = False) -> Group:
    return Group("g", spec, {"attempt": 1}, attempt, closed)


def child(key: str, status: str = "Running", message: str = "") -> Child:
    cause = Cause("exit_code", message) if message else None
    ended = 5.0 if status in ("Completed", "Failed", "Canceled") else None
    return Child(key, f"g_{key}", status, ended=ended, outcome=Outcome(status.lower(), cause) if ended else None)


def decide(group: Group, *children: Child, event: object = GroupResumed()) -> GroupDecision:  # frozen
    return CompletesWithChildren().decide(group, children, event, 9.0)  # type: ignore[arg-type]


def test_children_that_do_not_exist_yet_are_submitted() -> None:
    assert decide(group()).submit == (SubmitChild("a", JOB), SubmitChild("b", JOB))
    assert decide(group(), child("a", "Completed")).submit == (SubmitChild("b", JOB),)


def test_the_group_waits_for_the_last_child() -> None:
    decision = decide(group(), child("a", "Failed"), child("b"), event=ChildEnded("g_a"))
    assert (decision.has_orders, decision.end) == (False, None)


@pytest.mark.parametrize(
    ("statuses", "outcome"),
    [
        (("Completed", "Completed"), "completed"),
        (("Completed", "Canceled"), "completed"),
        (("Canceled", "Canceled"), "canceled"),
        (("Canceled", "Failed"), "failed"),
    ],
)
def test_the_outcome_follows_from_the_children(statuses: tuple[str, str], outcome: str) -> None:
    decision = decide(group(), child("a", statuses[0]), child("b", statuses[1]))
    assert decision.end is not None
    assert decision.end.kind == outcome


def test_the_failure_names_the_first_child_that_failed() -> None:
    end = decide(group(), child("a", "Failed", "exit code 3"), child("b", "Completed")).end
    assert end is not None
    assert end.cause is not None
    assert end.cause.message == "1 of 2 children failed, first g_a: exit code 3"


def test_an_open_group_ends_after_it_is_closed() -> None:
    ended = child("x", "Completed")
    assert decide(group(OPEN), ended).end is None
    assert decide(group(OPEN, closed=True), ended, event=GroupClosed()).end == Outcome("completed")
    assert decide(group(OPEN, closed=True), event=GroupClosed()).end == Outcome("completed")


def test_a_refused_child_fails_the_group() -> None:
    end = decide(group(), event=ChildRefused("a", Cause("child_refused", "no such target"))).end
    assert end is not None
    assert end.cause is not None
    assert end.cause.message == "child 'a' was refused: no such target"


def test_a_restarted_group_restarts_unsuccessful_children_once() -> None:
    first = decide(group(attempt=2), child("a", "Completed"), child("b", "Failed"))
    assert (first.restart, first.end) == ((RestartChild("b", 2),), None)
    after = Group("g", SPEC, first.state, attempt=2)
    assert decide(after, child("a", "Completed"), child("b", "Failed")).end is not None


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (ControllerSpec("c"), "the group has no children"),
        (ControllerSpec("c", {"opne": True}), "controller option 'opne' is unknown"),
    ],
)
def test_a_spec_that_makes_no_sense_is_refused(spec: ControllerSpec, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        CompletesWithChildren().check(spec)
