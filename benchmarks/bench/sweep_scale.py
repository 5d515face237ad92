"""A sweep of a thousand real trials: the gap between trials, and the ranking of all of them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from bench.harness import Options, Report, Row, Target, percentile, seconds
from bench.homes import WORKSPACE, footplate_home
from bench.machine import temporary_folder
from bench.sweep_speed import TRIAL
from footplate import Experiment, ScriptRunConfig, Workspace
from footplate.sdk.sweep_run import HyperDriveRun
from footplate.sdk.tuning.config import HyperDriveConfig, PrimaryMetricGoal
from footplate.sdk.tuning.parameter_expressions import uniform
from footplate.sdk.tuning.sampling import RandomParameterSampling

GAP = "end of a trial → first line of the next, one at a time"
RANKED = "get_children_sorted_by_primary_metric"

CAVEATS = """
The gap is measured inside the scripts: from the last statement of one to the first statement of the next. It contains
the end of the interpreter, the collection of outputs, the decision, and the start of the next trial.

The first trials are compared with the last ones of the long sweep, two at a time: the cost of a trial must not grow.
"""


def run(options: Options) -> Report:
    count, part = options.pick(1000, 60), options.pick(100, 20)
    report = Report("sweep_scale", f"a sweep of {count:,} trials", "ms", "", CAVEATS)
    with temporary_folder() as folder, footplate_home(folder) as workspace:
        single = _sweep(workspace, options.pick(40, 10), 1, folder / "single")
        gaps = [later[0] - earlier[1] for earlier, later in itertools.pairwise(_stamps(folder / "single"))]
        many = _sweep(workspace, count, 2, folder / "many")
        starts = [stamp[0] for stamp in _stamps(folder / "many")]
        ranked: list[list[dict[str, Any]]] = []
        times = [seconds(lambda: ranked.append(many.get_children_sorted_by_primary_metric())) for _ in range(15)]
    report.rows = [
        Row(GAP, tuple(gap / 1e6 for gap in gaps)),
        Row(f"{RANKED}, {count:,} trials", tuple(time * 1e3 for time in times)),
        Row(f"one trial of the first {part}", ((starts[part] - starts[0]) / part / 1e6,)),
        Row(f"one trial of the last {part}", ((starts[-1] - starts[-1 - part]) / part / 1e6,)),
    ]
    values = [each["best_primary_metric"] for each in ranked[-1]]
    report.check("every trial ran once", len(starts) == count, len(starts))
    report.check("every trial is ranked, the best first", values == sorted(values, reverse=True), len(values))
    report.check("the short sweep completed", single.get_status() == "Completed", single.get_status())
    growth = report.rows[3].median / report.rows[2].median
    report.targets = [
        Target(GAP, report.rows[0].median, "ms", at_most=100),
        Target("… 95th percentile", percentile(report.rows[0].samples, 95), "ms", at_most=200),
        Target(f"{RANKED}, {count:,} trials", report.rows[1].median, "ms", at_most=100),
        Target(f"the last {part} trials beside the first", growth, "×", at_most=1.3),
    ]
    return report


def _sweep(workspace: Workspace, count: int, concurrent: int, stamps: Path) -> HyperDriveRun:
    stamps.mkdir()
    script = ScriptRunConfig(str(TRIAL.parent), script=TRIAL.name, arguments=["--stamps", str(stamps)])
    config = HyperDriveConfig(
        RandomParameterSampling({"--x": uniform(0, 4)}, {"seed": 1}), "score", PrimaryMetricGoal.MAXIMIZE, count,
        max_concurrent_runs=concurrent, run_config=script,
    )  # fmt: skip
    submitted = Experiment(workspace, WORKSPACE).submit(config)
    submitted.wait_for_completion()
    return submitted


def _stamps(folder: Path) -> list[tuple[int, int]]:
    """Return the first and the last moment of every trial, in order."""
    read = [[int(word) for word in path.read_text().split()] for path in folder.iterdir()]
    return sorted((first, last) for first, last, _ in read)
