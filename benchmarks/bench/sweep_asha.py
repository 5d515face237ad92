"""Early termination on a small real training: the epochs that ASHA spends, and the best value that it finds."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from bench.harness import Options, Report, Row, Target
from bench.homes import WORKSPACE, footplate_home
from bench.machine import temporary_folder
from footplate import Experiment, ScriptRunConfig, Workspace
from footplate.domain.tuning.sweeps import TrialView
from footplate.sdk.tuning.config import HyperDriveConfig, PrimaryMetricGoal
from footplate.sdk.tuning.parameter_expressions import loguniform
from footplate.sdk.tuning.policy import AshaPolicy, EarlyTerminationPolicy, NoTerminationPolicy
from footplate.sdk.tuning.sampling import RandomParameterSampling

WHOLE, ASHA = "no early termination", "ASHA"
EPOCH_SECONDS = 0.2
NOISE = 0.01
"""Accuracy that a classifier of digits gains or loses with another seed."""

CAVEATS = """
Compute is counted in epochs that were trained, also those that a trial finished before it was stopped. An epoch takes
a fifth of a second, most of it asleep, so that two trials at a time do not disturb each other.
"""


def run(options: Options) -> Report:
    trials, epochs = options.pick(40, 9), options.pick(27, 9)
    report = Report("sweep_asha", f"{trials} trials of {epochs} epochs", "epochs", ASHA, CAVEATS)
    with temporary_folder() as folder, footplate_home(folder) as workspace:
        source = folder / "source"
        source.mkdir()
        shutil.copy(Path(__file__).parent / "jobs" / "epochs.py", source)
        digits, labels = load_digits(return_X_y=True)
        np.savez(source / "digits.npz", images=digits, labels=labels)  # so that a trial does not import scikit-learn
        found = {
            who: _sweep(workspace, source, trials, epochs, policy)
            for who, policy in ((WHOLE, NoTerminationPolicy()), (ASHA, AshaPolicy(min_intervals=1, reduction_factor=3)))
        }
    report.rows = [
        Row(who, (float(sum(t.intervals for t in ended)),), f"best accuracy {_best(ended):.4f}")
        for who, ended in found.items()
    ]
    same = [[t.parameters for t in ended] for ended in found.values()]
    report.check("both drew the same trials", same[0] == same[1], len(same[0]))
    report.check("no trial failed", all(t.status != "Failed" for ended in found.values() for t in ended))
    report.targets = [
        Target("compute beside no early termination", 1 / report.ratio(WHOLE), "×", at_most=0.4),
        Target("accuracy that was lost", _best(found[WHOLE]) - _best(found[ASHA]), "", at_most=NOISE),
    ]
    return report


def _sweep(
    workspace: Workspace, folder: Path, trials: int, epochs: int, policy: EarlyTerminationPolicy
) -> list[TrialView]:
    sampling = RandomParameterSampling({"--rate": loguniform(-12, 3), "--penalty": loguniform(-12, 0)}, {"seed": 5})
    arguments = ["--epochs", epochs, "--pause", EPOCH_SECONDS]
    config = HyperDriveConfig(
        sampling, "accuracy", PrimaryMetricGoal.MAXIMIZE, trials, max_concurrent_runs=2, policy=policy,
        run_config=ScriptRunConfig(str(folder), script="epochs.py", arguments=arguments),
    )  # fmt: skip
    submitted = Experiment(workspace, WORKSPACE).submit(config)
    submitted.wait_for_completion()
    return submitted.get_trials()


def _best(trials: list[TrialView]) -> float:
    return max(trial.best or 0.0 for trial in trials)
