"""The controller of a version: how many replicas it submits, cancels and replaces."""

from __future__ import annotations

from typing import Any

import pytest

from footplate.domain.orders import Cause, Program
from footplate.domain.runs.controllers import (
    Child,
    ChildEnded,
    ChildRefused,
    GroupClosed,
    GroupResumed,
    ScaleRequested,
)
from footplate.domain.runs.controllers import Group as RunGroup
from footplate.domain.serving.replicas import TEMPLATE, ServiceController
from footplate.domain.specs import ControllerSpec, RunSpec
from footplate.errors import InvalidInput

SPEC = ControllerSpec("service", {"replicas": 2}, {TEMPLATE: RunSpec("e", program=Program(command="serve"))})
CONTROLLER = ServiceController()


def group(state: dict[str, Any] | None = None, **more: Any) -> RunGroup:
    return RunGroup("g", SPEC, state or {}, **more)


def child(key: str, ended: float | None = None) -> Child:
    return Child(key, f"g_{key}", "Running", ended=ended)


def test_the_first_decision_submits_all_replicas() -> None:
    decision = CONTROLLER.decide(group(), [], GroupResumed(), 1.0)
    assert [order.key for order in decision.submit] == ["0", "1"]
    assert [order.spec.program.command for order in decision.submit if order.spec.program] == ["serve 0", "serve 1"]
    again = CONTROLLER.decide(group(decision.state), [child("0")], GroupResumed(), 2.0)
    assert [order.key for order in again.submit] == ["1"]  # the server died between the two


def test_a_replica_that_was_canceled_is_replaced_under_a_new_number() -> None:
    state = {"next": 2, "leaving": []}
    decision = CONTROLLER.decide(group(state), [child("0"), child("1", ended=1.0)], ChildEnded("g_1"), 2.0)
    assert [order.key for order in decision.submit] == ["2"]


def test_fewer_replicas_cancel_the_newest_ones_once() -> None:
    state = {"next": 2, "leaving": []}
    both = [child("0"), child("1")]
    less = CONTROLLER.decide(group(state, replicas=1), both, ScaleRequested(), 2.0)
    assert [order.key for order in less.cancel] == ["1"] and not less.submit
    still = CONTROLLER.decide(group(less.state, replicas=1), both, GroupResumed(), 3.0)
    assert not still.cancel and not still.submit
    more = CONTROLLER.decide(group(less.state, replicas=2), both, ScaleRequested(), 3.0)
    assert [order.key for order in more.submit] == ["2"]


def test_a_closed_group_completes_and_a_refused_replica_fails_it() -> None:
    closed = CONTROLLER.decide(group(closed=True), [child("0")], GroupClosed(), 1.0)
    assert closed.end is not None and closed.end.kind == "completed"
    refused = CONTROLLER.decide(group(), [], ChildRefused("0", Cause("c", "no such lock")), 1.0)
    assert refused.end is not None and refused.end.cause is not None and "no such lock" in refused.end.cause.message


def test_a_service_needs_a_command_and_a_number_of_replicas() -> None:
    CONTROLLER.check(SPEC)
    for spec in (ControllerSpec("service", {"replicas": 1}), ControllerSpec("service", {}, SPEC.children)):
        with pytest.raises(InvalidInput):
            CONTROLLER.check(spec)
