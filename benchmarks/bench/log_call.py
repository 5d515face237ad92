"""The cost of one `run.log(name, value)` in the training loop, inside a real job."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.harness import Options, Report, Row, Target
from bench.homes import footplate_home
from bench.machine import temporary_folder
from footplate import Experiment, ScriptRunConfig

OURS = "footplate, run.log(name, value)"
OURS_STEP = "footplate, run.log(name, value, step)"
TENSORBOARD = "tensorboardX, SummaryWriter.add_scalar"
MLFLOW = "MLflow, log_metric (SQLite)"
JOBS = Path(__file__).parent / "jobs"
BATCH = 100

CAVEATS = f"""
Ours and TensorBoard's are timed in batches of {BATCH} calls, loop included, since reading the clock costs as much as
a call; their p95 is one of batches. MLflow's calls are timed one by one.

A value that run.log took survives SIGKILL of the process; one that add_scalar took waits in a queue of the process;
log_metric has committed it to a database.

SummaryWriter is tensorboardX's, with its defaults. That of torch.utils.tensorboard was not measured: it needs torch.
"""


def run(options: Options) -> Report:
    report = Report("log_call", "one scalar logged from the training loop", "µs", OURS, CAVEATS)
    batches, calls = options.pick(2000, 200), options.pick(1000, 100)
    with temporary_folder() as folder:
        ours, kept = _footplate(folder, batches)
        board = _peer("log_tensorboard.py", batches // 5, BATCH, folder / "events", folder / "board.json")
        mlflow = _peer("log_mlflow.py", calls, folder / "mlflow.db", folder / "mlflow.json")
    report.rows = [
        Row(OURS, _microseconds(ours["plain"])),
        Row(OURS_STEP, _microseconds(ours["with_step"])),
        Row(TENSORBOARD, _microseconds(board["plain"])),
        Row(MLFLOW, _microseconds(mlflow["plain"])),
    ]
    wanted = {"warm": 1.0, "loss": [0.5] * batches * BATCH, "accuracy": [0.25] * batches * BATCH}
    report.check("every value that run.log took is in get_metrics()", kept == wanted, f"{2 * batches * BATCH + 1:,}")
    report.check("every value is in TensorBoard's file", board["kept"] == batches // 5 * BATCH, board["kept"])
    report.check("every value is in MLflow's database", mlflow["kept"] == calls, mlflow["kept"])
    report.targets = [
        Target("a call, median", report.row(OURS).median, "µs", at_most=1),
        Target("faster than MLflow", report.ratio(MLFLOW), "×", at_least=1000),
    ]
    return report


def _footplate(folder: Path, batches: int) -> tuple[dict[str, Any], dict[str, Any]]:
    with footplate_home(folder) as workspace:
        config = ScriptRunConfig(str(JOBS), "log_footplate.py", arguments=[batches, BATCH])
        submitted = Experiment(workspace, "log").submit(config)
        submitted.wait_for_completion(raise_on_error=True)
        target = folder / "figures.json"
        submitted.download_file("outputs/figures.json", str(target))
        return json.loads(target.read_text()), submitted.get_metrics()


def _peer(script: str, *arguments: object) -> dict[str, Any]:
    subprocess.run([sys.executable, str(JOBS / script), *map(str, arguments)], check=True, capture_output=True)
    return json.loads(Path(str(arguments[-1])).read_text())


def _microseconds(nanoseconds: list[float]) -> tuple[float, ...]:
    return tuple(value / 1000 for value in nanoseconds)
