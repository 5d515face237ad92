"""Sweeps in plain words, on a command line and in YAML."""

from __future__ import annotations

import math
from typing import Any

import pytest

from footplate.domain.tuning.sweeps import Constraint, Objective, SweepSpec, check_sweep
from footplate.errors import InvalidInput
from footplate.sdk.tuning.sweep_file import parse_expression, space_of, sweep_from_mapping


@pytest.mark.parametrize(
    "text, expression",
    [
        ("2,4,8", ["choice", [2, 4, 8]]),
        ("adam", ["choice", ["adam"]]),
        ("0.1,null,true,x", ["choice", [0.1, None, True, "x"]]),
        ("http://a,b", ["choice", ["http://a", "b"]]),
        ("uniform:0.1..0.9", ["uniform", [0.1, 0.9]]),
        ("uniform:-1..1", ["uniform", [-1, 1]]),
        ("quniform:16..256:16", ["quniform", [16, 256, 16]]),
        ("loguniform:1e-5..1e-1", ["loguniform", [math.log(1e-5), math.log(1e-1)]]),
        ("normal:0..1", ["normal", [0, 1]]),
        ("randint:10", ["randint", [10]]),
    ],
)
def test_a_text_becomes_an_expression(text: str, expression: list[Any]) -> None:
    assert parse_expression("p", text) == expression


@pytest.mark.parametrize(
    "text, words",
    [
        ("uniform:a..b", "is not a range"),
        ("loguniform:0..1", "loguniform got"),
        ("logunifrom:1e-5..1e-1", "'logunifrom' in 'logunifrom:1e-5..1e-1' is not a kind of range"),
    ],
)
def test_a_text_that_is_not_a_range_is_refused(text: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        parse_expression("p", text)


def test_a_file_says_the_same_in_yaml() -> None:
    found = space_of(
        {"layers": [2, 4], "lr": {"uniform": [0, 1]}, "m": {"uniform": [0, 1], "when": {"layers": 2}}, "s": 7}
    )
    assert found == {
        "layers": ["choice", [2, 4]],
        "lr": ["uniform", [0, 1]],
        "m": ["when", ["layers", [2], ["uniform", [0, 1]]]],
        "s": ["choice", [7]],
    }


def test_every_field_of_a_file_is_used() -> None:
    made = sweep_from_mapping(
        {
            "script": "train.py", "metric": "loss", "goal": "minimize", "trials": 9, "concurrent": 3, "minutes": 2,
            "sampler": "tpe", "options": {"n_startup_trials": 2}, "seed": 5, "parameters": {"a": "1,2"},
            "policy": {"kind": "asha", "min_intervals": 2},
        }
    )  # fmt: skip
    assert made.objectives == (Objective("loss", "minimize"),)
    assert (made.max_trials, made.max_concurrent, made.max_seconds, made.seed) == (9, 3, 120.0, 5)
    assert (made.sampler, made.sampler_options, made.policy.min_intervals) == ("tpe", {"n_startup_trials": 2}, 2)


def test_several_metrics_are_several_objectives() -> None:
    made = sweep_from_mapping({"metric": {"loss": "minimize", "speed": "maximize"}, "parameters": {"a": "1,2"}})
    assert made.objectives == (Objective("loss", "minimize"), Objective("speed", "maximize"))


@pytest.mark.parametrize(
    "given, words",
    [
        ({"trails": 3}, "unknown field 'trails'"),
        ({"metric": "loss", "parameters": {"a": "1"}}, "the goal of 'loss' is None"),
        ({"metric": "m", "goal": "minimize"}, "search space is empty"),
        (
            {"metric": "m", "goal": "minimize", "parameters": {"a": "1,2"}, "trials": 1, "policy": "median"},
            "there is one",
        ),
        ({"metric": "m", "goal": "minimize", "parameters": {"a": "1,2"}, "policy": {"kind": "asha", "x": 1}}, "policy"),
        ({"metric": "m", "goal": "minimize", "parameters": {"a": {"uniform": [0, 1], "b": 2}}}, "give one range"),
    ],
)
def test_a_file_that_cannot_work_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        sweep_from_mapping(given)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    "fields, words",
    [
        ({"trials": "many"}, "sweep.trials is 'many', which is not a whole number"),
        ({"trials": 2.7}, "sweep.trials is 2.7"),
        ({"trials": 0}, "the sweep has 0 trials"),
        ({"concurrent": "two"}, "sweep.concurrent is 'two'"),
        ({"minutes": "soon"}, "sweep.minutes is 'soon'"),
        ({"minutes": 0}, "the time limit of the sweep is 0 s"),
        ({"seed": "abc"}, "sweep.seed is 'abc'"),
        ({"options": [1]}, "sweep.options is [1]"),
        ({"parameters": ["lr"]}, "sweep.parameters is ['lr']"),
        ({"parameters": {"lr": None}}, "'lr' has no options"),
        ({"parameters": {"lr": {"uniform": [0, 1], "when": "k"}}}, "when is 'k'"),
        ({"policy": ["bandit"]}, "policy is ['bandit']"),
        ({"policy": {"slack_factor": 0.1}}, "policy is {'slack_factor': 0.1}"),
        ({"policy": {"kind": "bandit", "slack": 1}}, "slack"),
        ({"policy": {"kind": "bandit", "slack_factor": "lots"}}, "policy.slack_factor is 'lots'"),
        ({"constraints": {"memory": 3}}, "the constraint on 'memory' is 3"),
        ({"constraints": {"memory": {"at_most": "much"}}}, "constraints.memory.at_most is 'much'"),
        ({"objectives": ["latency"]}, "'latency' is not an objective"),
        ({"metric": None}, "no metric to optimize"),
    ],
)
def test_a_field_of_the_wrong_type_is_named(fields: dict[str, Any], words: str) -> None:
    given = {"script": "train.py", "metric": "m", "goal": "minimize", "parameters": {"a": [1, 2]}}
    with pytest.raises(InvalidInput) as refused:
        sweep_from_mapping({**given, **fields})
    assert words in str(refused.value) and refused.value.hint


def test_a_sweep_without_a_seed_draws_one() -> None:
    given = {"metric": "m", "goal": "minimize", "parameters": {"a": [1, 2]}}
    assert sweep_from_mapping(given).seed != sweep_from_mapping(given).seed


def test_a_grid_runs_whole_or_not_at_all() -> None:
    given = {"metric": "m", "goal": "minimize", "sampler": "grid", "parameters": {"a": [1, 2, 3], "b": [1, 2]}}
    assert sweep_from_mapping(given).max_trials == 6
    with pytest.raises(InvalidInput, match="the grid has 6 combinations, and the limit is 5 trials"):
        sweep_from_mapping({**given, "trials": 5})
    large = {"a": list(range(200)), "b": list(range(200))}
    with pytest.raises(
        InvalidInput, match="the grid has more than 10,000 combinations, and the limit is 10,000 trials"
    ):
        sweep_from_mapping({**given, "parameters": large})
    space = {name: ["choice", values] for name, values in large.items()}
    with pytest.raises(InvalidInput, match="the grid has more than 10,000 combinations"):
        check_sweep(SweepSpec(space, (Objective("m"),), 50, sampler="grid"))


def test_objectives_and_constraints_are_read_from_text() -> None:
    given = {"metric": "m", "goal": "minimize", "parameters": {"a": [1, 2]}, "objectives": ["speed:maximize"]}
    made = sweep_from_mapping({**given, "constraints": ["memory <= 100", "f1>=0.8"], "resume_from": "HD_1"})
    assert made.objectives == (Objective("m", "minimize"), Objective("speed", "maximize"))
    assert made.constraints == (Constraint("memory", at_most=100.0), Constraint("f1", at_least=0.8))
    assert made.resume_from == ("HD_1",)
    named = sweep_from_mapping({**given, "constraints": {"memory": {"at_most": 5}}})
    assert named.constraints == (Constraint("memory", at_most=5),)
    with pytest.raises(InvalidInput, match="'memory=1' is not a constraint"):
        sweep_from_mapping({**given, "constraints": ["memory=1"]})
