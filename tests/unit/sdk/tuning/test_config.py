"""HyperDriveConfig: Azure's rules, checked before anything is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
import pytest

from footplate import ScriptRunConfig
from footplate.domain.tuning.sweeps import Objective
from footplate.sdk.tuning.config import HyperDriveConfig, HyperDriveRunConfig, PrimaryMetricGoal
from footplate.sdk.tuning.exceptions import HyperDriveConfigException
from footplate.sdk.tuning.parameter_expressions import (
    choice,
    lognormal,
    loguniform,
    normal,
    qlognormal,
    qloguniform,
    qnormal,
    quniform,
    randint,
    uniform,
    when,
)
from footplate.sdk.tuning.policy import (
    AshaPolicy,
    BanditPolicy,
    HyperbandPolicy,
    MedianStoppingPolicy,
    NoTerminationPolicy,
    PopulationBasedTraining,
    TruncationSelectionPolicy,
)
from footplate.sdk.tuning.sampling import (
    BayesianParameterSampling,
    GridParameterSampling,
    OptunaParameterSampling,
    RandomParameterSampling,
)

SAMPLING = RandomParameterSampling({"--lr": loguniform(-6, -1), "batch": choice(16, 32)})


@pytest.fixture
def script(tmp_path: Path) -> ScriptRunConfig:
    (tmp_path / "train.py").write_text("")
    return ScriptRunConfig(str(tmp_path), script="train.py")


def sweep(script: ScriptRunConfig, sampling: Any = SAMPLING, **options: Any) -> HyperDriveConfig:
    options.setdefault("primary_metric_name", "accuracy")
    goal = PrimaryMetricGoal.MAXIMIZE
    return HyperDriveConfig(sampling, primary_metric_goal=goal, max_total_runs=8, run_config=script, **options)


def test_expressions_are_the_lists_that_azure_returns() -> None:
    assert choice(1, 2) == choice([1, 2]) == choice(range(1, 3)) == ["choice", [[1, 2]]]
    assert uniform(0, 1) == ["uniform", [0, 1]]
    assert [randint(3), normal(0, 1), lognormal(0, 1), loguniform(-6, -1)] == [
        ["randint", [3]], ["normal", [0, 1]], ["lognormal", [0, 1]], ["loguniform", [-6, -1]],
    ]  # fmt: skip
    quantized = [quniform(1, 9, 2), qloguniform(0, 3, 2), qnormal(5, 2, 2), qlognormal(0, 1, 1)]
    assert [expression[0] for expression in quantized] == ["quniform", "qloguniform", "qnormal", "qlognormal"]
    assert when("a", [1], choice(1, 2)) == ["when", ["a", [1], ["choice", [1, 2]]]]


def test_numbers_and_arrays_of_numpy_become_plain() -> None:
    assert choice(numpy.arange(3)) == choice(list(numpy.arange(3))) == ["choice", [[0, 1, 2]]]
    assert json.dumps([choice(numpy.int64(1), 2.5), quniform(numpy.int64(1), numpy.float32(9), 2)])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: uniform(2, 1), "uniform from 2 to 1"),
        (lambda: uniform("a", 1), "uniform got 'a'"),  # type: ignore[arg-type]
        (lambda: quniform(1, 9, 0.5), "q of quniform is 0.5"),  # type: ignore[arg-type]
        (choice, "no options"),
        (lambda: randint(0), "randint got 0"),
        (lambda: choice({1, 2}, 3), r"choice got \[{1, 2}, 3\]"),
        (BanditPolicy, "slack_factor is None"),
        (lambda: TruncationSelectionPolicy(0), "truncation_percentage is 0"),
        (lambda: GridParameterSampling({"a": uniform(0, 1)}), "'a' is uniform, which GridParameterSampling"),
        (lambda: BayesianParameterSampling({"a": normal(0, 1)}), "'a' is normal, which BayesianParameterSampling"),
        (lambda: RandomParameterSampling({}), "search space is empty"),
        (lambda: RandomParameterSampling([1]), r"parameter_space is \[1\]"),  # type: ignore[arg-type]
        (lambda: PrimaryMetricGoal.from_str("up"), "the goal is 'up'"),
    ],
)
def test_wrong_parts_are_refused_where_they_are_made(make: Any, words: str) -> None:
    with pytest.raises(HyperDriveConfigException, match=words):
        make()


@pytest.mark.parametrize(
    "make, values",
    [
        (lambda: quniform(0, 0.5, 0.1), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]),  # type: ignore[arg-type]
        (lambda: quniform(-1, 1, 0.5), [-1.0, -0.5, 0.0, 0.5, 1.0]),  # type: ignore[arg-type]
    ],
)
def test_steps_that_are_no_whole_number_have_an_alternative(make: Any, values: list[float]) -> None:
    with pytest.raises(HyperDriveConfigException, match="use choice") as refused:
        make()
    advised = str(refused.value.hint).partition("use ")[2]
    assert eval(advised, {"choice": choice, "round": round, "range": range}) == choice(values)
    with pytest.raises(HyperDriveConfigException, match=r"for steps of 0\.1, draw with normal and round in the script"):
        qnormal(0, 1, 0.1)  # type: ignore[arg-type]


def test_a_sweep_carries_every_setting(script: ScriptRunConfig) -> None:
    config = sweep(
        script, RandomParameterSampling({"lr": choice(1, 2)}, {"seed": 7, "x": 1}), max_concurrent_runs=2,
        max_duration_minutes=5, policy=BanditPolicy(2, slack_factor=0.1, delay_evaluation=4), resume_from=["a"],
        resume_child_runs="a_1",
    )  # fmt: skip
    made = config.to_sweep()
    assert made.space == {"lr": ["choice", [1, 2]]}
    assert made.objectives == (Objective("accuracy", "maximize"),)
    assert (made.max_trials, made.max_concurrent, made.max_seconds) == (8, 2, 300.0)
    assert (made.sampler, made.seed, made.sampler_options) == ("random", 7, {"x": 1})
    assert (made.policy.kind, made.policy.evaluation_interval, made.policy.delay_evaluation) == ("bandit", 2, 4)
    assert (made.resume_from, made.resume_trials) == (("a",), ("a_1",))


def test_all_trials_may_run_at_once_unless_limited(script: ScriptRunConfig) -> None:
    assert sweep(script).max_concurrent_runs == 8


def test_the_samplers_have_their_names(script: ScriptRunConfig) -> None:
    space = {"a": choice(1, 2)}
    made = [GridParameterSampling(space), BayesianParameterSampling(space), OptunaParameterSampling(space, "cmaes")]
    assert [sweep(script, sampling).to_sweep().sampler for sampling in made] == ["grid", "tpe", "cmaes"]


def test_exactly_one_of_estimator_run_config_and_pipeline(script: ScriptRunConfig) -> None:
    goal = PrimaryMetricGoal.MINIMIZE
    with pytest.raises(HyperDriveConfigException, match="0 of estimator, run_config and pipeline"):
        HyperDriveConfig(SAMPLING, "m", goal, 1)
    with pytest.raises(HyperDriveConfigException, match="run_config is of the type str"):
        HyperDriveConfig(SAMPLING, "m", goal, 1, run_config="train.py")  # type: ignore[arg-type]
    with pytest.raises(HyperDriveConfigException, match="estimator is of the type ScriptRunConfig"):
        HyperDriveRunConfig(script, SAMPLING, "m", goal, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options, words",
    [
        ({"policy": 3}, "policy is 3"),
        ({"max_concurrent_runs": -1}, "max_concurrent_runs is -1"),
        ({"resume_from": list("abcdef")}, "resume_from names 6 sweeps"),
        ({"max_duration_minutes": 0}, "time limit of the sweep is 0 s"),
        ({"max_duration_minutes": float("inf")}, "time limit of the sweep is inf s"),
        ({"max_concurrent_runs": 10**6}, "the sweep has 1000000 trials at once"),
        ({"max_concurrent_runs": 0}, "max_concurrent_runs is 0"),
        ({"primary_metric_name": 5}, "primary_metric_name is 5"),
        ({"sampling": RandomParameterSampling({"a": choice(1, 2)}, {"seed": "x"})}, "the seed is 'x'"),
        ({"policy": AshaPolicy(reduction_factor=9, promote=True)}, "one trial in 9 is promoted, and there are 8"),
        ({"policy": PopulationBasedTraining(population=8)}, "the population takes all 8 trials"),
        ({"policy": PopulationBasedTraining()}, "the population takes all 8 trials"),
    ],
)
def test_a_sweep_that_cannot_work_is_refused(script: ScriptRunConfig, options: dict[str, Any], words: str) -> None:
    with pytest.raises(HyperDriveConfigException, match=words):
        sweep(script, **options)


def test_a_policy_that_stops_nothing_is_a_warning(script: ScriptRunConfig) -> None:
    with pytest.warns(UserWarning, match="10 % of 8 trials is less than one"):
        sweep(script, policy=TruncationSelectionPolicy(10))
    goal, policy = PrimaryMetricGoal.MAXIMIZE, MedianStoppingPolicy()
    with pytest.warns(UserWarning, match="policy median compares trials, and there is one"):
        HyperDriveConfig(SAMPLING, "accuracy", goal, 1, run_config=script, policy=policy)


def test_bayesian_sampling_takes_no_policy(script: ScriptRunConfig) -> None:
    bayesian = BayesianParameterSampling({"a": choice(1, 2)})
    with pytest.raises(HyperDriveConfigException, match="does not work with MedianStoppingPolicy") as refused:
        sweep(script, bayesian, policy=MedianStoppingPolicy())
    assert 'OptunaParameterSampling(space, "tpe")' in str(refused.value)
    same = OptunaParameterSampling({"a": choice(1, 2)}, "tpe")
    assert sweep(script, same, policy=MedianStoppingPolicy()).to_sweep().policy.kind == "median"
    assert sweep(script, bayesian, policy=NoTerminationPolicy()).to_sweep().policy.kind == "none"


def test_policies_are_written_as_azure_writes_them() -> None:
    written = json.loads(BanditPolicy(2, slack_amount=0.3, delay_evaluation=5).to_json())
    properties = {"evaluation_interval": 2, "delay_evaluation": 5, "slack_amount": 0.3}
    assert written == {"name": "Bandit", "properties": properties}
    assert [AshaPolicy().rule.kind, HyperbandPolicy(9).rule.kind] == ["asha", "hyperband"]
