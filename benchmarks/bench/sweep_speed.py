"""Two hundred trials of a trivial script, two at a time."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import optuna
import ray
from ray import tune
from ray.tune.search.optuna import OptunaSearch

from bench.harness import Options, Report, Row, Target, interleave, seconds
from bench.homes import WORKSPACE, footplate_home
from bench.machine import temporary_folder
from footplate import Experiment, ScriptRunConfig, Workspace
from footplate.sdk.tuning.config import HyperDriveConfig, PrimaryMetricGoal
from footplate.sdk.tuning.parameter_expressions import uniform
from footplate.sdk.tuning.sampling import OptunaParameterSampling

TRIAL = Path(__file__).parent / "jobs" / "trial.py"
OURS = "footplate, HyperDriveConfig"
LOOP = "a subprocess loop with Optuna on SQLite"
BARE = "a subprocess loop with Optuna in memory"
RAY = "Ray Tune with OptunaSearch"

CAVEATS = """
All draw with Optuna's TPE. The loops start `python trial.py` from two threads and read the value from its output; the
one on SQLite stores its trials, as Footplate does, and neither keeps logs, files or a queue. Our script imports
Footplate to log its value; the loops' does not.

Ray Tune runs a function in an actor per trial, which is a process. The head of Ray runs already when it is measured,
and does not run beside the others.

Each contestant takes part in every round; Ray Tune, which is slow, only in the first of five, and with 10 and 40
trials: its time for all of them follows from the difference, so that its own start counts once.
"""


def run(options: Options) -> Report:
    count = options.pick(200, 20)
    report = Report("sweep_speed", f"{count} trials of a trivial script, 2 concurrent", "s", OURS, CAVEATS)
    found: dict[str, list[int]] = {}
    few, more = options.pick(10, 2), options.pick(40, 6)
    with temporary_folder() as folder, footplate_home(folder) as workspace:
        source = folder / "source"
        source.mkdir()
        shutil.copy(TRIAL, source)
        contestants = {
            OURS: lambda: _footplate(workspace, source, count),
            LOOP: lambda: _loop(source, count, f"sqlite:///{folder / 'optuna.db'}"),
            BARE: lambda: _loop(source, count, None),
        }
        _footplate(workspace, source, 2)  # warm: the server runs, and has imported Optuna
        measures = {who: _counting(start, found.setdefault(who, [])) for who, start in contestants.items()}
        measures[RAY] = lambda: _with_ray(folder, lambda: _extrapolated(lambda n: _ray(folder, n), few, more, count))
        samples = interleave(options.pick(5, 1), measures, {RAY: 5})
    report.rows = [Row(who, values) for who, values in samples.items()]
    for who, counts in found.items():
        report.check(f"every trial has a value: {who}", set(counts) == {count}, counts)
    report.targets = [
        Target("beside the subprocess loop on SQLite", 1 / report.ratio(LOOP), "×", at_most=1.1),
        Target("faster than Ray Tune", report.ratio(RAY), "×", at_least=5),
    ]
    return report


def _counting(start, counts: list[int]):  # type: ignore[no-untyped-def]
    return lambda: seconds(lambda: counts.append(start()))


def _extrapolated(start: Callable[[int], int], few: int, more: int, count: int) -> float:
    """Return the seconds that `count` trials would take, from those of two smaller sweeps."""
    taken: list[float] = []
    for size in (few, more):
        values: list[int] = []
        taken.append(seconds(lambda size=size, values=values: values.append(start(size))))
        if values != [size]:
            raise RuntimeError(f"{values[0]} of {size} trials have a value: {RAY}")
    return taken[0] + (taken[1] - taken[0]) / (more - few) * (count - few)


def _footplate(workspace: Workspace, folder: Path, count: int) -> int:
    config = HyperDriveConfig(
        OptunaParameterSampling({"--x": uniform(0, 4)}, "tpe", {"seed": 1}), "score", PrimaryMetricGoal.MAXIMIZE,
        count, max_concurrent_runs=2, run_config=ScriptRunConfig(str(folder), script="trial.py"),
    )  # fmt: skip
    submitted = Experiment(workspace, WORKSPACE).submit(config)
    submitted.wait_for_completion()
    return sum(trial.best is not None for trial in submitted.get_trials())


def _loop(folder: Path, count: int, storage: str | None) -> int:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", storage=storage, sampler=optuna.samplers.TPESampler(seed=1))

    def objective(_: int) -> None:
        trial = study.ask()
        command = [sys.executable, str(folder / "trial.py"), "--x", str(trial.suggest_float("x", 0, 4))]
        study.tell(trial, float(subprocess.run(command, check=True, capture_output=True).stdout))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(objective, range(count)))
    return sum(trial.value is not None for trial in study.trials)


def _trainable(config: dict[str, float]) -> None:
    tune.report({"score": -((config["x"] - 2.0) ** 2)})


def _with_ray(folder: Path, measure: Callable[[], float]) -> float:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=str(folder / "ray"))
    try:
        return measure()
    finally:
        ray.shutdown()


def _ray(folder: Path, count: int) -> int:
    settings = tune.TuneConfig(
        metric="score", mode="max", num_samples=count, max_concurrent_trials=2,
        search_alg=OptunaSearch(sampler=optuna.samplers.TPESampler(seed=1)),
    )  # fmt: skip
    where = tune.RunConfig(storage_path=str(folder / "tune"), verbose=0)
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        tuner = tune.Tuner(_trainable, param_space={"x": tune.uniform(0, 4)}, tune_config=settings, run_config=where)
        results = tuner.fit()
    return sum(result.metrics is not None and "score" in result.metrics for result in results)
