"""Sweeps as Optuna studies: the study on disk opens with Optuna alone and has every trial."""

from __future__ import annotations

from pathlib import Path

import optuna
import pytest

from footplate.domain.tuning.early_stopping import MAXIMIZE, MINIMIZE
from footplate.domain.tuning.sweeps import Constraint, Objective, SweepSpec, TrialView
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.tuning.optuna_study import export_study

SPACE = {
    "lr": ["loguniform", [-9, -1]],
    "layers": ["choice", [1, 2, [3, 4]]],
    "units": ["quniform", [1, 10, 4]],
    "seed": ["randint", [5]],
    "noise": ["normal", [0, 1]],
    "momentum": ["when", ["layers", [1], ["uniform", [0.5, 1.0]]]],
}
COMMON = {"lr": 0.01, "units": 12, "seed": 4, "noise": 9.0}
TRIALS = [
    TrialView(0, "s_0", {**COMMON, "layers": 1, "momentum": 0.7}, "Completed", 0.5, (0.5,), started=1.0, ended=2.0),
    TrialView(1, "s_1", {**COMMON, "layers": [3, 4]}, "Canceled", 0.9, (0.9,), 2, "too slow", started=1.0, ended=2.0),
    TrialView(2, "s_2", {**COMMON, "layers": 2}, "Failed", started=1.0, ended=2.0),
    TrialView(3, "s_3", {**COMMON, "layers": 2}, "Running", started=1.0),
]


def test_a_study_has_every_trial_and_opens_with_optuna_alone(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    sweep = SweepSpec(SPACE, (Objective("loss", MINIMIZE),), 4)
    export_study(sweep, TRIALS, {"s_0": [0.7, 0.5]}, storage, "mine")
    study = optuna.load_study(study_name="mine", storage=storage)
    assert [trial.state.name for trial in study.trials] == ["COMPLETE", "PRUNED", "FAIL", "RUNNING"]
    assert study.best_trial.params == TRIALS[0].parameters
    assert study.best_trial.intermediate_values == {0: 0.7, 1: 0.5}
    assert study.trials[1].params["layers"] == "[3, 4]"
    assert study.trials[1].user_attrs["stopped"] == "too slow"
    assert study.trials[0].duration.total_seconds() == 1.0  # type: ignore[union-attr]
    with pytest.raises(UserErrorException, match="study 'mine' exists"):
        export_study(sweep, TRIALS, {}, storage, "mine")


def test_a_study_of_several_objectives_has_the_same_front() -> None:
    sweep = SweepSpec({"x": ["uniform", [0, 1]]}, (Objective("loss", MINIMIZE), Objective("speed", MAXIMIZE)), 3)
    values = [(0.1, 1.0), (0.2, 2.0), (0.3, 1.5)]
    trials = [TrialView(n, f"s_{n}", {"x": n / 3}, "Completed", v[0], v, ended=2.0) for n, v in enumerate(values)]
    study = export_study(sweep, trials, {}, None, "two")
    assert [trial.number for trial in study.best_trials] == [0, 1]
    assert study.metric_names == ["loss", "speed"]


def test_a_trial_that_breaks_a_constraint_is_not_the_best_of_the_study(tmp_path: Path) -> None:
    bounds = (Constraint("memory", at_most=100), Constraint("f1", at_least=0.5))
    sweep = SweepSpec({"x": ["uniform", [0, 1]]}, (Objective("loss", MINIMIZE),), 3, constraints=bounds)
    broken = [(5.0, -0.1), (-5.0, -0.1), ()]
    trials = [
        TrialView(n, f"s_{n}", {"x": 0.5}, "Completed", n, (n,), violations=broken[n], ended=2.0) for n in range(3)
    ]
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    export_study(sweep, trials, {}, storage, "bounded")
    study = optuna.load_study(study_name="bounded", storage=storage)
    assert study.best_trial.number == 1
    assert study.trials[0].constraints == {"memory <= 100": 5.0, "f1 >= 0.5": -0.1}


def test_a_storage_that_cannot_be_opened_is_named() -> None:
    sweep = SweepSpec(SPACE, (Objective("loss", MINIMIZE),), 4)
    with pytest.raises(UserErrorException, match="the storage 'nonsense://x' cannot be opened"):
        export_study(sweep, TRIALS, {}, "nonsense://x", "mine")
