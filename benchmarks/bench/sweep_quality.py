"""The best value after forty trials, beside Optuna with the same sampler and seed."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import optuna

from bench.harness import Options, Report, Row, Target
from bench.homes import WORKSPACE, footplate_home
from bench.jobs import problems
from bench.machine import temporary_folder
from footplate import Experiment, ScriptRunConfig, Workspace
from footplate.sdk.tuning.config import HyperDriveConfig, PrimaryMetricGoal
from footplate.sdk.tuning.parameter_expressions import uniform
from footplate.sdk.tuning.sampling import OptunaParameterSampling

SEED = 7

CAVEATS = """
Footplate submits every trial as a run, one at a time, and Optuna calls the same function in this process. The values
must be equal, not close: the parameters travel as text, and the sampler gets the same calls in the same order.
"""


def run(options: Options) -> Report:
    count = options.pick(40, 8)
    report = Report("sweep_quality", f"best value after {count} trials, TPE, seed {SEED}", "", "", CAVEATS)
    names = list(problems.PROBLEMS) if not options.quick else ["branin", "logistic"]
    equal = 0
    with temporary_folder() as folder, footplate_home(folder) as workspace:
        source = folder / "source"
        source.mkdir()
        shutil.copy(problems.__file__, source)
        for name in names:
            ours, theirs = _footplate(workspace, source, name, count), _optuna(name, count)
            report.rows += [Row(f"{name}, footplate", (min(ours),)), Row(f"{name}, Optuna", (min(theirs),))]
            report.check(f"{name}: all {count} values are equal", ours == theirs, f"{min(ours):.6g}, {min(theirs):.6g}")
            equal += min(ours) == min(theirs)
    report.targets = [Target("problems with the same best value", equal, "", at_least=len(names))]
    return report


def _footplate(workspace: Workspace, folder: Path, name: str, count: int) -> list[float]:
    config = HyperDriveConfig(
        OptunaParameterSampling({"x": uniform(-5, 5), "y": uniform(-5, 5)}, "tpe", {"seed": SEED}),
        "value", PrimaryMetricGoal.MINIMIZE, count, max_concurrent_runs=1,
        run_config=ScriptRunConfig(str(folder), script="problems.py", arguments=["--problem", name]),
    )  # fmt: skip
    submitted = Experiment(workspace, WORKSPACE).submit(config)
    submitted.wait_for_completion()
    return [trial.values[0] for trial in submitted.get_trials()]


def _optuna(name: str, count: int) -> list[float]:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="minimize", sampler=optuna.samplers.TPESampler(seed=SEED))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study.optimize(
            lambda trial: problems.PROBLEMS[name]({axis: trial.suggest_float(axis, -5, 5) for axis in "xy"}), count
        )
    return [float(trial.value or 0.0) for trial in study.trials]
