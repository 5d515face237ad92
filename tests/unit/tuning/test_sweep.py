"""The controller of a sweep, without a server: trials are simulated, and decisions are carried out at once."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from footplate.domain.codec import to_json
from footplate.domain.orders import Program
from footplate.domain.records import Outcome
from footplate.domain.runs.controllers import (
    Child,
    ChildEnded,
    ChildMetric,
    ChildMetricReported,
    ControllerEvent,
    Group,
    GroupDecision,
    GroupResumed,
    TimeReached,
    child_id,
)
from footplate.domain.specs import RunSpec
from footplate.domain.tuning.early_stopping import MAXIMIZE, MINIMIZE, Policy
from footplate.domain.tuning.sweeps import Constraint, Objective, PastTrial, SweepSpec, controller_of
from footplate.tuning.promotion import explore
from footplate.tuning.sweep import SweepController
from footplate.tuning.sweep_notes import SweepNotes

SPACE = {"x": ["uniform", [0.0, 4.0]]}
TEMPLATE = RunSpec("lab", program=Program(script="train.py"))
Course = Callable[[dict[str, Any], int], float]
"""The value that a trial with these parameters logs at an interval."""


def flat(parameters: dict[str, Any], interval: int) -> float:
    return -((parameters["x"] - 2.0) ** 2)


class Simulation:
    """A server for one sweep: one trial after the other takes a step, which logs one value."""

    def __init__(self, spec: SweepSpec, course: Course = flat, steps: int = 1) -> None:
        self.spec, self.course, self.steps = spec, course, steps
        self.controller = SweepController()
        self.group = Group("s", controller_of(spec, TEMPLATE), {})
        self.children: dict[str, Child] = {}
        self.specs: dict[str, RunSpec] = {}
        self.notes: list[Any] = []
        self.log: list[str] = []
        self.outcome: Outcome | None = None
        self.now = 0.0
        self.consult(GroupResumed())

    @property
    def trials(self) -> SweepNotes:
        return SweepNotes().add_all(self.notes)

    @property
    def drawn(self) -> list[dict[str, Any]]:
        return [trial.parameters for trial in self.trials.trials]

    def consult(self, event: ControllerEvent) -> None:
        group = replace(self.group, notes=self.notes, outcome=self.outcome)
        decision = self.controller.decide(group, list(self.children.values()), event, self.now)
        self.group = replace(self.group, state=json.loads(json.dumps(to_json(decision.state))))
        self.notes += json.loads(json.dumps(to_json(decision.notes)))
        self.log += decision.log
        self._carry_out(decision)

    def _carry_out(self, decision: GroupDecision) -> None:
        self.outcome = self.outcome or decision.end
        for order in decision.submit:
            self.specs.setdefault(order.key, order.spec)
            self.children.setdefault(order.key, Child(order.key, child_id("s", order.key), "Running"))
        for order in decision.restart:
            self.children[order.key] = replace(
                self.children[order.key], status="Running", attempt=order.attempt, ended=None
            )
        for order in decision.cancel:
            self.end(order.key, "Canceled")

    def end(self, key: str, status: str, **logged: ChildMetric) -> None:
        self.now += 1.0
        metrics = {**self.children[key].metrics, **logged}
        self.children[key] = replace(self.children[key], status=status, ended=self.now, metrics=metrics)
        self.consult(ChildEnded(self.children[key].id, tuple(self.children[key].metrics)))

    def take_step(self, key: str) -> None:
        child, trial = self.children[key], self.trials.trials[int(key)]
        value = self.course(trial.parameters, trial.source_interval + len(child.series) + 1)
        series = (*child.series, value)
        numbers = [each for each in series if not math.isnan(each)] or [math.nan]
        summary = ChildMetric(len(series), series[-1], min(numbers), max(numbers))
        metrics = dict.fromkeys(self.group.controller.metrics, summary)
        self.children[key] = replace(child, series=series, metrics=metrics)
        if self.group.controller.interval:
            self.consult(ChildMetricReported(child.id, series))
        child = self.children[key]
        if child.ended is None and trial.source_interval + len(child.series) >= self.steps:
            self.end(key, "Completed")

    def run(self, restart_every: int = 0) -> Simulation:
        """Run to the end; `restart_every`: a new controller, as after a kill, before every so many steps."""
        taken = 0
        while self.outcome is None:
            running = [key for key, child in self.children.items() if child.ended is None]
            assert running, "nothing runs, and the sweep does not end"
            for key in running:
                taken += 1
                if restart_every and taken % restart_every == 0:
                    self.controller = SweepController()
                    self.consult(GroupResumed())
                if self.outcome is None and self.children[key].ended is None:
                    self.take_step(key)
        return self

    def intervals(self) -> int:
        return sum(len(child.series) for child in self.children.values())


def spec(count: int = 6, **fields: Any) -> SweepSpec:
    fields.setdefault("objectives", (Objective("score", MAXIMIZE),))
    fields.setdefault("max_concurrent", 2)
    return SweepSpec(SPACE, max_trials=count, seed=3, **fields)


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_a_killed_server_draws_the_same_trials(sampler: str) -> None:
    whole = Simulation(spec(30, sampler=sampler)).run()
    killed = Simulation(spec(30, sampler=sampler)).run(restart_every=1)
    assert whole.drawn == killed.drawn
    assert len(whole.children) == 30
    assert whole.outcome == Outcome("completed")


def test_a_decision_that_was_not_stored_is_made_again() -> None:
    simulation = Simulation(spec(6, sampler="tpe"))
    key = next(iter(simulation.children))
    simulation.children[key] = replace(simulation.children[key], status="Canceled", ended=1.0)
    group = replace(simulation.group, notes=list(simulation.notes))
    event = ChildEnded(simulation.children[key].id)
    first = simulation.controller.decide(group, list(simulation.children.values()), event, 1.0)
    again = simulation.controller.decide(group, list(simulation.children.values()), event, 1.0)
    assert first == again
    assert [order.key for order in first.submit] == ["2"]


def test_a_decision_costs_the_same_with_many_trials_behind_it() -> None:
    """The stored state and the notes of one decision do not grow with the number of trials."""
    simulation = Simulation(spec(300)).run()
    assert len(json.dumps(simulation.group.state)) < 100
    assert len(simulation.notes) == 600
    assert max(len(json.dumps(note)) for note in simulation.notes) < 100


def test_asha_stops_trials_with_less_than_half_of_the_compute() -> None:
    def course(parameters: dict[str, Any], interval: int) -> float:
        return -((parameters["x"] - 2.0) ** 2) - 1.0 / interval

    whole = Simulation(spec(27), course, steps=27).run()
    stopped = Simulation(spec(27, policy=Policy("asha")), course, steps=27).run()
    assert stopped.drawn == whole.drawn
    assert stopped.intervals() < 0.4 * whole.intervals()
    best = [max((child.series[-1], key) for key, child in each.children.items())[1] for each in (whole, stopped)]
    assert best[0] == best[1]
    assert any("not among the best" in str(trial.stopped) for trial in stopped.trials.trials)


@pytest.mark.parametrize("restart_every", [0, 3])
def test_promoted_trials_go_on_from_their_rung(restart_every: int) -> None:
    policy = Policy("asha", min_intervals=1, reduction_factor=3, promote=True)
    simulation = Simulation(spec(9, policy=policy), steps=9).run(restart_every)
    lengths = sorted(len(child.series) for child in simulation.children.values())
    assert lengths.count(1) == 6, "two thirds stay at the first rung"
    promoted = [key for key, child in simulation.children.items() if child.attempt > 1]
    assert promoted and all(len(simulation.children[key].series) >= 3 for key in promoted)
    best = max(simulation.drawn, key=lambda parameters: flat(parameters, 1))
    assert len(simulation.children[str(simulation.drawn.index(best))].series) == max(lengths)
    assert any("is promoted at interval 1 and goes on" in line for line in simulation.log)


def test_hyperband_promotes_within_brackets() -> None:
    policy = Policy("hyperband", min_intervals=1, max_intervals=9, reduction_factor=3, promote=True)
    simulation = Simulation(spec(27, policy=policy), steps=9).run()
    first_rungs = {1: 0, 3: 1, 9: 2}
    for key, child in simulation.children.items():
        assert len(child.series) >= min(rung for rung, level in first_rungs.items() if level >= int(key) % 3)
    assert simulation.outcome == Outcome("completed")


def test_a_population_copies_its_best_trials() -> None:
    policy = Policy("pbt", evaluation_interval=2, population=4)
    simulation = Simulation(spec(12, policy=policy), steps=10).run()
    trials = simulation.trials.trials
    copies = [number for number, trial in enumerate(trials) if trial.source is not None]
    assert 4 in copies and 4 < len(trials) <= 12
    for number in copies:
        trial = trials[number]
        assert trial.source is not None
        assert simulation.specs[str(number)].outputs_from == f"s_{trial.source}"
        assert flat(trials[trial.source].parameters, 1) > flat(trials[0].parameters, 1) - 4
    replaced = [trial for trial in trials if trial.stopped]
    assert len(replaced) == len(copies)
    assert "continues trial" in str(replaced[0].stopped)
    assert simulation.drawn == Simulation(spec(12, policy=policy), steps=10).run(restart_every=2).drawn


def test_a_copy_begins_at_the_checkpoint_of_a_trial_that_goes_on() -> None:
    policy = Policy("pbt", evaluation_interval=2, population=2, quantile=0.5, max_intervals=6)
    simulation = Simulation(spec(4, policy=policy), steps=6)
    best, worst = sorted(simulation.drawn, key=lambda parameters: flat(parameters, 1), reverse=True)
    ahead, behind = (str(simulation.drawn.index(parameters)) for parameters in (best, worst))
    simulation.take_step(behind)
    for _ in range(4):  # it pauses twice, and goes on
        simulation.take_step(ahead)
    simulation.take_step(behind)
    copy = simulation.trials.trials[2]
    assert (str(copy.source), copy.source_interval) == (ahead, 4)
    done = Simulation(spec(4, policy=policy), steps=6)
    done.take_step(behind)
    for _ in range(6):
        done.take_step(ahead)
    assert done.children[ahead].status == "Completed"
    done.take_step(behind)
    assert len(done.trials.trials) == 2, "a copy of a trial that has completed would have nothing to do"


def test_a_copy_stays_within_the_space() -> None:
    space = {
        "lr": ["loguniform", [-5, 0]], "layers": ["choice", [1, 2, 4]], "seed": ["randint", [3]],
        "units": ["quniform", [16, 64, 16]], "noise": ["normal", [0, 1]],
        "momentum": ["when", ["layers", [4], ["uniform", [0.5, 1.0]]]],
    }  # fmt: skip
    generator, values = random.Random(1), {"lr": 1.0, "layers": 4, "seed": 2, "units": 64, "noise": 0.1}
    for _ in range(200):
        values = explore(space, values, generator)
        assert math.exp(-5) <= values["lr"] <= 1.0 and values["layers"] in (1, 2, 4) and 0 <= values["seed"] < 3
        assert values["units"] in (16, 32, 48, 64)
        assert ("momentum" in values) == (values["layers"] == 4)
        assert 0.5 <= values.get("momentum", 0.5) <= 1.0


def test_earlier_trials_teach_the_sampler() -> None:
    past = tuple(PastTrial({"x": number / 10}, (flat({"x": number / 10}, 1),)) for number in range(40))
    taught = Simulation(spec(10, sampler="tpe", past=past)).run()
    untaught = Simulation(spec(10, sampler="tpe")).run()

    def error(simulation: Simulation) -> float:
        return sum(abs(parameters["x"] - 2.0) for parameters in simulation.drawn) / 10

    assert error(taught) < 0.5 * error(untaught)
    assert taught.drawn == Simulation(spec(10, sampler="tpe", past=past)).run(restart_every=1).drawn


def test_constraints_reach_the_sampler() -> None:
    wanted = {"objectives": (Objective("score", MINIMIZE),), "constraints": (Constraint("score", at_least=-1.0),)}
    simulation = Simulation(spec(20, sampler="tpe", **wanted)).run()
    told = [note for note in simulation.notes if "tell" in note]
    assert len(told) == 20
    assert all(note["violations"] == [-1.0 - note["values"][0]] for note in told)


def test_the_time_limit_counts_from_the_last_resumption() -> None:
    simulation = Simulation(spec(6, max_seconds=100.0))
    simulation.now = 1000.0
    simulation.group = replace(simulation.group, attempt=2)
    simulation.consult(GroupResumed())
    assert simulation.outcome is None
    simulation.now = 1101.0
    simulation.consult(TimeReached())
    assert simulation.outcome is not None and simulation.outcome.kind == "completed"
    assert "limit of 100 s" in simulation.log[-1]


def test_a_trial_that_logs_nan_does_not_count() -> None:
    simulation = Simulation(spec(4), lambda parameters, _: math.nan if parameters["x"] > 2 else parameters["x"]).run()
    values = [note["values"] for note in simulation.notes if "tell" in note]
    assert None in values and any(value is not None for value in values)
    assert simulation.outcome == Outcome("completed")


def test_a_first_trial_that_logs_nan_does_not_end_the_sweep() -> None:
    simulation = Simulation(spec(4, max_concurrent=1))
    simulation.end("0", "Completed", score=ChildMetric(3, last=math.nan))
    assert simulation.run().outcome == Outcome("completed")


@pytest.mark.parametrize(
    "fields",
    [
        {"objectives": (Objective("score", MAXIMIZE), Objective("cost", MINIMIZE))},
        {"constraints": (Constraint("cost", at_most=1.0),)},
    ],
)
def test_a_second_metric_that_is_missing_ends_the_sweep(fields: dict[str, Any]) -> None:
    simulation = Simulation(spec(4, max_concurrent=1, **fields))
    simulation.end("0", "Completed", score=ChildMetric(1, 1.0, 1.0, 1.0))
    assert "trial 0 completed without logging 'cost': it logged score" in simulation.log[-1]


def test_a_metric_that_is_text_ends_the_sweep_with_a_hint() -> None:
    simulation = Simulation(spec(4, max_concurrent=1))
    simulation.end("0", "Completed", score=ChildMetric(3, last=None))
    assert simulation.outcome is not None and simulation.outcome.cause is not None
    assert simulation.outcome.cause.message == "trial 0 logged 'score' 3 times, but never a number"
    assert "float(value)" in (simulation.outcome.cause.hint or "")


def test_a_sweep_of_one_trial_that_fails_speaks_of_one() -> None:
    simulation = Simulation(spec(1))
    simulation.end("0", "Failed")
    assert simulation.outcome is not None and simulation.outcome.cause is not None
    assert simulation.outcome.cause.message.startswith("the first trial failed: ")


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_a_resumed_sweep_runs_its_failed_trials_again(sampler: str) -> None:
    simulation = Simulation(spec(6, sampler=sampler))
    for key in ("0", "1", "2"):
        simulation.end(key, "Failed")
    assert simulation.outcome is not None and "the first 3 trials failed" in simulation.log[-1]
    simulation.children["3"] = replace(simulation.children["3"], status="Canceled", ended=simulation.now)
    simulation.outcome = None
    simulation.group = replace(simulation.group, attempt=2)
    simulation.consult(GroupResumed())
    simulation.run(restart_every=2)
    assert simulation.outcome == Outcome("completed")
    assert [child.attempt for child in simulation.children.values()] == [2, 2, 2, 2, 1, 1]
    assert {child.status for child in simulation.children.values()} == {"Completed"}
    told = [note["tell"] for note in simulation.notes if "tell" in note and note["values"] is not None]
    assert sorted(told) == [0, 1, 2, 3, 4, 5], "the sampler learns the result of every trial once"


def test_trials_that_fail_again_end_a_resumed_sweep() -> None:
    simulation = Simulation(spec(6))
    for attempt in (1, 2):
        for key in ("0", "1", "2"):
            simulation.end(key, "Failed")
        assert simulation.outcome is not None and simulation.outcome.kind == "failed"
        if attempt == 1:
            simulation.children["3"] = replace(simulation.children["3"], status="Canceled", ended=simulation.now)
            simulation.outcome, simulation.group = None, replace(simulation.group, attempt=2)
            simulation.consult(GroupResumed())
    assert [child.attempt for child in simulation.children.values()] == [2, 2, 2, 2]
