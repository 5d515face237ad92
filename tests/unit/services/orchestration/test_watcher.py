"""The cost of watching agents, counted in statements and calls: many queued runs must cost little."""

from __future__ import annotations

import pytest

from footplate.engines.base import Observation

from ..conftest import House, Statements, run_through

TARGET = "far"


@pytest.fixture
def statements(house: House) -> Statements:
    house.services.computes.put(house.workspace, TARGET, max_nodes=1000)
    return Statements(house.store)


def launch(house: House, *runs: str, target: str = TARGET) -> None:
    for run in runs:
        house.engine.seen[f"handle-{run}"] = Observation("queued", reason="Priority")
        house.submit(run, target=target)
    for run in runs:
        until_reason(house, run, "Priority")


def until_reason(house: House, run: str, reason: str | None) -> None:
    def is_shown() -> bool:
        waiting = house.services.runs.view(run).waiting
        return (waiting and waiting.reason) == reason

    house.bulletin.until(is_shown)


def rounds(house: House, count: int) -> None:
    """Wait until the engine was asked so many times more, by rounds that began after this call."""
    enough = house.engine.asked + count + 1
    house.bulletin.until(lambda: house.engine.asked >= enough)


def test_watching_costs_the_same_however_many_runs_are_queued(house: House, statements: Statements) -> None:
    costs: list[float] = []
    for number in (1, 25):
        launch(house, *(f"r{number}-{i}" for i in range(number)))
        rounds(house, 2)  # the last report is settled
        began, asked = statements.count["watcher"], house.engine.asked
        rounds(house, 5)
        passed = house.engine.asked - asked
        costs.append((statements.count["watcher"] - began) / passed)
    assert max(costs) < 4, "a round reads the target, in a transaction, and no run"


def test_one_call_asks_an_engine_about_the_runs_of_all_targets(house: House, statements: Statements) -> None:
    house.services.computes.put(house.workspace, "near", max_nodes=5)
    launch(house, "r0", "r1", "r2")
    launch(house, "r3", "r4", target="near")
    house.bulletin.until(lambda: house.engine.handles == 5)


def test_a_changed_answer_is_passed_on_and_costs_only_its_own_run(house: House, statements: Statements) -> None:
    launch(house, *(f"r{i}" for i in range(10)))
    rounds(house, 2)
    versions = {f"r{i}": house.store.runs.record(f"r{i}").version for i in range(10)}
    house.engine.seen["handle-r3"] = Observation("queued", reason="Resources")
    until_reason(house, "r3", "Resources")
    rounds(house, 2)
    changed = {run for run, version in versions.items() if house.store.runs.record(run).version != version}
    assert changed == {"r3"}


def test_agents_that_die_in_a_settled_run_are_started_again(house: House, statements: Statements) -> None:
    launch(house, "r0")
    rounds(house, 2)
    house.engine.seen["handle-r0"] = Observation("exited", {0: 1})
    house.bulletin.until(lambda: house.engine.submitted.count("r0") > 1)
    assert house.store.runs.record("r0").revivals == 1


def test_a_run_that_the_engine_cannot_judge_hides_no_other(house: House, statements: Statements) -> None:
    launch(house, "r0", "r1")
    house.engine.unknown.add("handle-r0")
    house.engine.seen["handle-r1"] = Observation("queued", reason="Resources")
    until_reason(house, "r1", "Resources")
    rounds(house, 5)
    assert sorted(house.engine.submitted) == ["r0", "r1"], "agents that cannot be checked are not started again"


def test_an_engine_that_cannot_forget_a_run_holds_up_no_other(house: House, statements: Statements) -> None:
    house.submit("r0", target=TARGET)
    house.engine.away = "the cluster does not answer"
    run_through(house, "r0")
    house.until_status("r0", "Completed")
    launch(house, "r1")
    house.engine.away = ""
    house.bulletin.until(lambda: house.engine.forgotten == ["handle-r0"])


def test_agents_that_cannot_be_started_yet_are_started_later(house: House) -> None:
    house.engine.busy_times = 3
    house.submit("r0")
    house.until_launched("r0")
    assert (house.engine.submitted, house.engine.busy_times) == (["r0"], 0)
    assert house.status("r0") not in ("Failed", "Canceled")
