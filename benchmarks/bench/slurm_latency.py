"""From the submitting call to the first line of the user's script on a Slurm cluster of this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bench.harness import Options, Report, Target, wait_for
from bench.homes import WORKSPACE
from bench.stamps import Start, compare
from footplate import ComputeTarget, Environment, Experiment, ScriptRunConfig, Workspace
from support.networks import PrivateNetwork, ServerInside
from support.slurm_cluster import SlurmCluster

OURS = "footplate, experiment.submit"
SBATCH = "sbatch"

CAVEATS = """
Both start the same script with the same interpreter on the same cluster, whose nodes are namespaces of this machine.
sbatch runs it from the folder itself, which the nodes happen to see here. Ours also copies the folder, starts an agent
on the node and reports to the server; the node has run one before, so it has the agent.

Slurm starts jobs once a second: most of the time of both is spent waiting for that, half a second on average. The
submissions of both are spread evenly over the second. The agent is started by the same interpreter as the script.
"""


def run(options: Options) -> Report:
    report = Report("slurm_latency", "submit → first line of the user's script on Slurm", "ms", OURS, CAVEATS)
    compare(report, _contestants, options.pick(60, 6), spread=True)
    ratio = report.row(OURS).median / report.row(SBATCH).median
    report.targets = [Target("beside plain sbatch, median", ratio, "×", at_most=1.1)]
    return report


@contextmanager
def _contestants(folder: Path, source: Path) -> Iterator[dict[str, Start]]:
    with closing(PrivateNetwork(nodes=1)) as network, SlurmCluster(network) as cluster:
        with _server(folder / "home", cluster):
            workspace = Workspace.create(WORKSPACE, exist_ok=True)
            wanted = ComputeTarget.engine_configuration(
                "slurm", max_nodes=1, scratch=str(cluster.scratch), python=sys.executable
            )
            ComputeTarget.attach(workspace, "slurm", wanted)
            yield {
                SBATCH: lambda stamp: _sbatch(cluster, source, stamp),
                OURS: lambda stamp: _footplate(workspace, cluster, source, stamp),
            }


@contextmanager
def _server(home: Path, cluster: SlurmCluster) -> Iterator[None]:
    os.environ["FOOTPLATE_HOME"] = str(home)
    try:
        with ServerInside(cluster.network, home, cluster.variables):
            yield
    finally:
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
