"""From the submitting call to the first line of the user's script: server running, folder unchanged."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path

import mlflow
from mlflow.projects import run as mlflow_run
from ray.job_submission import JobStatus, JobSubmissionClient

from bench.harness import Options, Report, Target, wait_for
from bench.homes import WORKSPACE, footplate_home
from bench.machine import tool
from bench.peers.ray_head import ray_head
from bench.stamps import Start, compare
from footplate import Experiment, ScriptRunConfig, Workspace

BARE = "python script.py"
OURS = "footplate, experiment.submit"
OURS_CLI = "footplate run (CLI)"
RAY = "Ray, JobSubmissionClient.submit_job"
RAY_CLI = "ray job submit (CLI)"
MLFLOW = "MLflow, projects.run (in this process)"
MLFLOW_CLI = "mlflow run --env-manager local (CLI)"

CAVEATS = """
The clients of rows without (CLI) are warm: imported and connected. A CLI row pays for a fresh interpreter each time.

MLflow's projects.run starts the script as a child, in the folder itself: no queue, no copy, no agent, and the run
ends with the caller. It is a lower bound for bookkeeping, not the same service.

Every run has ended before the next contestant starts; the slow ones take part in every second round.
"""

MLPROJECT = """name: bench
entry_points:
  main:
    parameters:
      stamp: string
    command: "python stamp.py {stamp}"
"""


def run(options: Options) -> Report:
    report = Report("submit_latency", "submit → first line of the user's script, warm", "ms", OURS, CAVEATS)
    slow = (RAY, MLFLOW, OURS_CLI, RAY_CLI, MLFLOW_CLI)
    compare(report, _contestants, options.pick(24, 4), dict.fromkeys(slow, 2))
    over = report.row(OURS).median - report.row(BARE).median
    report.targets = [
        Target("over bare python, median", over, "ms", at_most=150),
        Target("faster than the Ray job, warm client beside warm client", report.ratio(RAY), "×", at_least=8),
    ]
    return report


@contextmanager
def _contestants(folder: Path, source: Path) -> Iterator[dict[str, Start]]:
    os.environ["MLFLOW_TRACKING_URI"] = f"sqlite:///{folder / 'mlflow.db'}"
    mlflow.set_tracking_uri(os.environ["MLFLOW_TRACKING_URI"])
    with footplate_home(folder) as workspace, ray_head(folder) as address:
        workspace.write_config(str(source))
        (source / "MLproject").write_text(MLPROJECT)
        yield {
            BARE: lambda stamp: _process([sys.executable, "stamp.py", stamp], source),
            OURS: _footplate(workspace, source),
            RAY: _ray(address, source),
            MLFLOW: lambda stamp: _mlflow(source, stamp),
            OURS_CLI: lambda stamp: _process([tool("footplate"), "run", "--wait", "stamp.py", stamp], source),
            RAY_CLI: lambda stamp: _process(_ray_command(address, source, stamp), source),
            MLFLOW_CLI: lambda stamp: _process(_mlflow_command(source, stamp), source),
        }


def _process(command: list[str], folder: Path) -> Callable[[], object]:
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return process.wait


def _footplate(workspace: Workspace, source: Path) -> Start:
    experiment = Experiment(workspace, WORKSPACE)

    def start(stamp: str) -> Callable[[], object]:
        submitted = experiment.submit(
            ScriptRunConfig(source_directory=str(source), script="stamp.py", arguments=[stamp])
        )
        return submitted.wait_for_completion

    return start


def _ray(address: str, source: Path) -> Start:
    client = JobSubmissionClient(address)
    ends = (JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.STOPPED)

    def start(stamp: str) -> Callable[[], object]:
        job = client.submit_job(entrypoint=f"python stamp.py {stamp}", runtime_env={"working_dir": str(source)})
        return lambda: wait_for(f"the end of {job}", lambda: client.get_job_status(job) in ends or None, pause=0.1)

    return start


def _ray_command(address: str, source: Path, stamp: str) -> list[str]:
    command = [tool("ray"), "job", "submit", "--address", address, "--working-dir", str(source)]
    return [*command, "--", "python", "stamp.py", stamp]


def _mlflow(source: Path, stamp: str) -> Callable[[], object]:
    with redirect_stdout(StringIO()):
        submitted = mlflow_run(str(source), parameters={"stamp": stamp}, env_manager="local", backend="local")
    return submitted.wait


def _mlflow_command(source: Path, stamp: str) -> list[str]:
    return [tool("mlflow"), "run", "--env-manager", "local", str(source), "-P", f"stamp={stamp}"]
