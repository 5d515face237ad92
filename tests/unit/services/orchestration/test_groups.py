"""Groups over a real store: children are submitted once, watched by their metric, and ended with the group."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from footplate.domain.orders import Program
from footplate.domain.records import Outcome
from footplate.domain.runs.controllers import (
    CancelChild,
    Child,
    ChildMetricReported,
    ControllerEvent,
    Group,
    GroupDecision,
    SubmitChild,
    TimeReached,
)
from footplate.domain.specs import ControllerSpec, EnvironmentSpec, RunSpec
from footplate.errors import Conflict, InvalidInput, Unavailable
from footplate.services.orchestration import controller_table
from support.storage_parts.fixtures import journal, log_all

from ..conftest import FakeEngine, House, open_house, run_through

JOB = RunSpec("lab", program=Program(script="train.py"), environment=EnvironmentSpec(interpreter="python3"))


def start(house: House, controller: ControllerSpec, run: str = "g") -> None:
    house.submit(run, kind="group", program=None, controller=controller)


def keys(house: House) -> list[str]:
    return [child.key for child in house.store.runs.children_of("g")]


def test_a_group_completes_when_its_children_do(house: House) -> None:
    start(house, ControllerSpec("completes_with_children", children={"a": JOB, "b": JOB}))
    assert house.status("g") == "Running"
    run_through(house, "g_a")
    assert house.status("g") == "Running"
    run_through(house, "g_b")
    house.until_status("g", "Completed")
    assert keys(house) == ["a", "b"]


def test_children_survive_a_server_that_stops_before_they_exist(house: House) -> None:
    """The decision is stored and no order performed: the state that a killed server leaves."""
    house.services.orchestrator.groups.connect(_never, house.services.runs.cancel, {})
    start(house, ControllerSpec("completes_with_children", children={"a": JOB, "b": JOB}))
    house.bulletin.until(lambda: (house.store.runs.record("g").group or {})["decision"]["submit"] != [])
    house.services.stop()
    assert keys(house) == []
    house.store.close()

    again = open_house(house.home, FakeEngine())
    try:
        run_through(again, "g_a")
        run_through(again, "g_b")
        again.until_status("g", "Completed")
        assert sorted(again.engine.submitted) == ["g_a", "g_b"]
    finally:
        again.services.stop()
        again.store.close()


def _never(*_: Any, **__: Any) -> Any:
    raise Unavailable("the server is being killed")


def test_cancel_ends_the_children_first(house: House) -> None:
    start(house, ControllerSpec("completes_with_children", children={"a": JOB}))
    house.until_launched("g_a")
    house.services.nodes.join("g_a", 0, 1, "host", "127.0.0.1", {})
    assert house.services.runs.cancel("g", "ada").status == "CancelRequested"
    house.services.nodes.report("g_a", 0, "exited", None, None)
    house.services.nodes.report("g_a", 0, "done", None, None)
    house.until_status("g", "Canceled")
    assert house.status("g_a") == "Canceled"


def test_a_child_that_cannot_be_submitted_fails_the_group(house: House) -> None:
    house.services.computes.put(house.workspace, "small", max_nodes=1)
    start(house, ControllerSpec("test_recorder", children={"a": replace(JOB, target="small")}))
    house.services.computes.delete(house.workspace, "small")
    Recorder.next = GroupDecision(submit=(SubmitChild("a", replace(JOB, target="small")),))
    house.services.runs.complete("g")
    house.bulletin.until(lambda: any(type(e).__name__ == "ChildRefused" for e in Recorder.events))


def test_what_a_group_cannot_have_is_refused(house: House) -> None:
    with pytest.raises(InvalidInput, match="needs a controller"):
        house.submit("g", kind="group", program=None)
    with pytest.raises(InvalidInput, match="controller 'abacus' is unknown"):
        start(house, ControllerSpec("abacus"))
    with pytest.raises(InvalidInput, match="either a script or a command"):
        start(house, ControllerSpec("completes_with_children", children={"a": replace(JOB, program=None)}))
    start(house, ControllerSpec("completes_with_children", {"open": True}))
    with pytest.raises(InvalidInput, match="'interactive' cannot be a child of 'g'"):
        house.submit("i", kind="interactive", program=None, parent="g")
    house.services.runs.complete("g")
    house.until_status("g", "Completed")
    with pytest.raises(Conflict, match="takes no more children"):
        house.submit("late", parent="g")


class Recorder:
    """A controller that remembers its events and decides what the test has put into `next`."""

    events: list[ControllerEvent] = []  # noqa: RUF012
    children: Sequence[Child] = ()
    next = GroupDecision()

    def check(self, spec: ControllerSpec) -> None:
        pass

    def decide(self, group: Group, children: Sequence[Child], event: ControllerEvent, now: float) -> GroupDecision:
        type(self).children = children
        Recorder.events.append(event)
        return Recorder.next


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(controller_table.CONTROLLERS, "test_recorder", f"{Recorder.__module__}:Recorder")
    Recorder.events, Recorder.next = [], GroupDecision()


def test_a_controller_is_consulted_per_interval_of_a_metric(house: House, tmp_path: Path) -> None:
    Recorder.next = GroupDecision(submit=(SubmitChild("a", JOB),))
    start(house, ControllerSpec("test_recorder", metrics=("loss",), interval=2))
    house.until_launched("g_a")
    Recorder.next = GroupDecision({"seen": True})
    house.services.runs.complete("g")  # consults it once more, now with the child
    house.bulletin.until(lambda: len(Recorder.children) == 1)
    slots, text = journal(tmp_path / "journal", lambda opened: log_all(opened, [3.0, 1.0, 2.0]))
    house.services.metrics.append("g_a", "w", "text", 0, text, False)
    house.services.metrics.append("g_a", "w", "slots", 0, slots, False)
    house.bulletin.until(lambda: ChildMetricReported("g_a", (3.0, 1.0, 2.0)) in Recorder.events)
    metric = Recorder.children[0].metrics.get("loss")
    assert metric is not None
    assert (metric.count, metric.last, metric.min, metric.max) == (3, 2.0, 1.0, 3.0)


def test_a_controller_cancels_a_child_with_a_reason_and_goes_on(house: House) -> None:
    Recorder.next = GroupDecision(submit=(SubmitChild("a", JOB),))
    start(house, ControllerSpec("test_recorder"))
    house.until_launched("g_a")
    Recorder.next = GroupDecision(cancel=(CancelChild("a", "it is worse than the median"),))
    house.services.runs.complete("g")
    house.bulletin.until(lambda: house.status("g_a") == "CancelRequested")
    outcome = house.services.runs.view("g_a").outcome
    assert outcome is not None
    assert outcome.cause is not None
    assert outcome.cause.message == "canceled by its group: it is worse than the median"
    assert house.status("g") == "Running"


def test_later_children_get_the_environment_of_the_earlier_ones(house: House) -> None:
    """The settings become unreadable: whoever has to resolve an environment then fails."""
    Recorder.next = GroupDecision(submit=(SubmitChild("a", JOB),))
    start(house, ControllerSpec("test_recorder"))
    house.until_launched("g_a")
    (house.home / "settings.ini").write_text("[environments]\ninterpreters = perhaps\n")
    other = replace(JOB, environment=EnvironmentSpec(interpreter="python3", variables={"A": "1"}))
    Recorder.next = GroupDecision(submit=(SubmitChild("b", JOB), SubmitChild("c", other)))
    run_through(house, "g_a")
    run_through(house, "g_b")
    house.until_status("g_b", "Completed")
    house.until_status("g_c", "Failed")
    Recorder.next = GroupDecision(submit=(SubmitChild("d", JOB),))
    house.services.runs.complete("g")  # consults it once more: a child without a lock has ended meanwhile
    house.until_launched("g_d")
    assert [line.event for line in house.store.runs.story("g_b")][:3] == [
        "RunSubmitted", "EnvironmentLocked", "RunAdmitted",
    ]  # fmt: skip
    assert house.store.runs.record("g_b").lock == house.store.runs.record("g_a").lock


def test_a_controller_is_woken_at_the_time_that_it_names(house: House) -> None:
    Recorder.next = GroupDecision(wake_at=1.0)
    start(house, ControllerSpec("test_recorder"))
    house.bulletin.until(lambda: TimeReached() in Recorder.events)
    Recorder.next = GroupDecision(end=Outcome("completed"))
    house.services.runs.complete("g")
    house.until_status("g", "Completed")


def test_a_controller_that_raises_fails_its_group(house: House) -> None:
    Recorder.next = None  # type: ignore[assignment]
    start(house, ControllerSpec("test_recorder"))
    house.until_status("g", "Failed")
    outcome = house.services.runs.view("g").outcome
    assert outcome is not None
    assert outcome.cause is not None
    assert outcome.cause.message.startswith("the controller failed")


class CancelsWhatLogs(Recorder):
    """Submits a and b, and cancels each child in the decision about its first value, and in that one alone."""

    is_open = threading.Event()

    def decide(self, group: Group, children: Sequence[Child], event: ControllerEvent, now: float) -> GroupDecision:
        if not children:
            return GroupDecision(submit=(SubmitChild("a", JOB), SubmitChild("b", JOB)))
        if isinstance(event, ChildMetricReported):
            assert self.is_open.wait(120)
            order = CancelChild(event.run[2:], "it logged")
            return GroupDecision({"last": event.run}, cancel=(order,), notes=(event.run,))
        return GroupDecision(group.state)


def test_orders_are_carried_out_before_the_next_decision(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two children log at the same time: the decision about the second must not replace the orders for the first."""
    monkeypatch.setitem(controller_table.CONTROLLERS, "test_cancels", f"{Recorder.__module__}:CancelsWhatLogs")
    start(house, ControllerSpec("test_cancels", metrics=("loss",), interval=1))
    house.until_launched("g_b")
    slots, text = journal(tmp_path / "journal", lambda opened: log_all(opened, [1.0]))
    for run in ("g_a", "g_b"):
        house.services.metrics.append(run, "w", "text", 0, text, False)
        house.services.metrics.append(run, "w", "slots", 0, slots, False)
    CancelsWhatLogs.is_open.set()  # by now, both children wait for a decision
    house.bulletin.until(lambda: house.store.runs.notes("g") == ["g_a", "g_b"])
    house.until_status("g_a", "CancelRequested")
    house.until_status("g_b", "CancelRequested")
