"""From the submitting call to the first line of the user's script on a Slurm cluster of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bench.harness import Options, Report, Row, Target, interleave, wait_for
from bench.homes import WORKSPACE
from bench.machine import temporary_folder
from bench.stamps import SCRIPT, Stamps
from footplate import ComputeTarget, Environment, Experiment, ScriptRunConfig, Workspace
from footplate.testing.networks import SERVER, PrivateNetwork
from footplate.testing.slurm_cluster import SlurmCluster

OURS = "footplate, experiment.submit"
SBATCH = "sbatch"

CAVEATS = """
Both start the same script with the same interpreter on the same cluster, whose nodes are namespaces of this machine.
sbatch runs it from the folder itself, which the nodes happen to see here. Ours also copies the folder, starts an agent
on the node and reports to the server; the node has run one before, so it has the agent.

Slurm starts a job in its next scheduling cycle: most of the time of both is spent waiting for that.
"""


def run(options: Options) -> Report:
    report = Report("slurm_latency", "submit → first line of the user's script on Slurm", "ms", OURS, CAVEATS)
    rounds = options.pick(30, 5)
    with temporary_folder() as folder:
        source = folder / "source"
        source.mkdir()
        shutil.copy(SCRIPT, source)
        stamps = Stamps(folder)
        with _contestants(folder, source) as starts:
            for start in starts.values():
                stamps.measure(start)  # warm up
            warmed = len(stamps.pids)
            samples = interleave(rounds, {who: _bound(stamps, start) for who, start in starts.items()})
    report.rows = [Row(who, values) for who, values in samples.items()]
    count = warmed + sum(len(values) for values in samples.values())
    report.check("each run was a process of its own", len(stamps.pids) == count, f"{len(stamps.pids)} of {count}")
    report.check("no script began before it was submitted", stamps.early == 0, stamps.early)
    ratio = report.row(OURS).median / report.row(SBATCH).median
    report.targets = [Target("beside plain sbatch, median", ratio, "×", at_most=1.1)]
    return report


def _bound(stamps: Stamps, start: Callable[[str], Callable[[], object]]) -> Callable[[], float]:
    return lambda: stamps.measure(start)


@contextmanager
def _contestants(folder: Path, source: Path) -> Iterator[dict[str, Callable[[str], Callable[[], object]]]]:
    with closing(PrivateNetwork(nodes=1)) as network, SlurmCluster(network) as cluster:
        with _server(folder / "home", cluster):
            workspace = Workspace.create(WORKSPACE, exist_ok=True)
            wanted = ComputeTarget.engine_configuration("slurm", max_nodes=1, scratch=str(cluster.scratch))
            ComputeTarget.attach(workspace, "slurm", wanted)
            yield {
                SBATCH: lambda stamp: _sbatch(cluster, source, stamp),
                OURS: lambda stamp: _footplate(workspace, cluster, source, stamp),
            }


@contextmanager
def _server(home: Path, cluster: SlurmCluster) -> Iterator[None]:
    os.environ["FOOTPLATE_HOME"] = str(home)
    command = [sys.executable, "-m", "footplate.server", "--home", str(home), "--host", SERVER, "--port", "8000"]
    enter, variables = cluster.network.enter(cluster.network.server), {**os.environ, **cluster.variables}
    process = subprocess.Popen([*enter, *command], env=variables, stderr=subprocess.DEVNULL)
    try:
        wait_for("the server", lambda: (home / "server.json").exists() or None)
        yield
    finally:
        process.terminate()
        process.wait(timeout=60)
        del os.environ["FOOTPLATE_HOME"]


def _sbatch(cluster: SlurmCluster, source: Path, stamp: str) -> Callable[[], object]:
    command = f"{sys.executable} {source / 'stamp.py'} {stamp}"
    cluster.call("sbatch", "--output=/dev/null", f"--wrap={command}")
    return lambda: _wait_until_idle(cluster)


def _footplate(workspace: Workspace, cluster: SlurmCluster, source: Path, stamp: str) -> Callable[[], object]:
    config = ScriptRunConfig(
        source_directory=str(source),
        script="stamp.py",
        arguments=[stamp],
        compute_target="slurm",
        environment=_this_interpreter(),
    )
    submitted = Experiment(workspace, WORKSPACE).submit(config)

    def finish() -> None:
        submitted.wait_for_completion()
        _wait_until_idle(cluster)

    return finish


def _this_interpreter() -> Environment:
    environment = Environment("this")
    environment.python.user_managed_dependencies = True
    environment.python.interpreter_path = sys.executable
    return environment


def _wait_until_idle(cluster: SlurmCluster) -> None:
    wait_for("the end of the job", lambda: cluster.call("squeue", "--noheader") == "" or None, pause=0.1)
