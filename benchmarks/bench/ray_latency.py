"""From the submitting call to the first line of the user's script, on one Ray cluster: through Footplate or not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ray.job_submission import JobStatus, JobSubmissionClient

from bench.harness import Options, Report, Target, wait_for
from bench.homes import WORKSPACE, footplate_home
from bench.machine import free_port, tool
from bench.peers.ray_head import ray_head
from bench.stamps import Start, compare
from footplate import Experiment, ScriptRunConfig, Workspace
from footplate.sdk.compute.targets import ComputeTarget

OURS = "footplate, experiment.submit on Ray"
OURS_CLI = "footplate run on Ray (CLI)"
RAY = "Ray, JobSubmissionClient.submit_job"
RAY_CLI = "ray job submit (CLI)"

CAVEATS = """
Both start the same script as a job of the same Ray cluster of one node, with one CPU. Ray unpacks the folder from its
store; Footplate's job starts an agent, which fetches snapshot and plan from the server and then starts the script.

The clients of rows without (CLI) are warm. Every run has ended before the next contestant starts.
"""


def run(options: Options) -> Report:
    report = Report("ray_latency", "submit → first line of the user's script on Ray", "ms", OURS, CAVEATS)
    compare(report, _contestants, options.pick(16, 3), {OURS_CLI: 2, RAY_CLI: 2})
    report.targets = [
        Target("over Ray's own job, warm clients", 1 / report.ratio(RAY), "×", at_most=1.15),
        Target("over Ray's own job, CLI", report.row(OURS_CLI).median / report.row(RAY_CLI).median, "×", at_most=1.15),
    ]
    return report


@contextmanager
def _contestants(folder: Path, source: Path) -> Iterator[dict[str, Start]]:
    os.environ["RAY_AUTH_MODE"] = "disabled"
    with ray_head(folder) as address, _server(folder), footplate_home(folder) as workspace:
        workspace.write_config(str(source))
        wanted = ComputeTarget.engine_configuration("ray", address=address, scratch=str(folder / "scratch"))
        ComputeTarget.attach(workspace, "ray", wanted)
        yield {
            OURS: _footplate(workspace, source),
            RAY: _ray(address, source),
            OURS_CLI: lambda stamp: _process(_footplate_command(stamp), source),
            RAY_CLI: lambda stamp: _process(_ray_command(address, source, stamp), source),
        }


@contextmanager
def _server(folder: Path) -> Iterator[None]:
    """Start a server that agents on Ray can reach."""
    home = folder / "home"
    command = [sys.executable, "-m", "footplate.server", "--home", str(home), "--host", "127.0.0.1"]
    server = subprocess.Popen([*command, "--port", str(free_port())], stderr=subprocess.DEVNULL)
    try:
        wait_for("the server", lambda: (home / "server.json").exists() or None)
        yield
    finally:
        server.terminate()
        server.wait(60)


def _process(command: list[str], folder: Path) -> Callable[[], object]:
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return process.wait


def _footplate(workspace: Workspace, source: Path) -> Start:
    experiment = Experiment(workspace, WORKSPACE)

    def start(stamp: str) -> Callable[[], object]:
        config = ScriptRunConfig(str(source), "stamp.py", [stamp], compute_target="ray")
        return experiment.submit(config).wait_for_completion

    return start


def _footplate_command(stamp: str) -> list[str]:
    return [tool("footplate"), "run", "--wait", "--target", "ray", "stamp.py", stamp]


def _ray(address: str, source: Path) -> Start:
    client = JobSubmissionClient(address)
    ends = (JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.STOPPED)

    def start(stamp: str) -> Callable[[], object]:
        command, folder = f"python stamp.py {stamp}", {"working_dir": str(source)}
        job = client.submit_job(entrypoint=command, runtime_env=folder, entrypoint_num_cpus=1)
        return lambda: wait_for(f"the end of {job}", lambda: client.get_job_status(job) in ends or None, pause=0.1)

    return start


def _ray_command(address: str, source: Path, stamp: str) -> list[str]:
    command = [tool("ray"), "job", "submit", "--address", address, "--working-dir", str(source)]
    return [*command, "--entrypoint-num-cpus", "1", "--", "python", "stamp.py", stamp]
