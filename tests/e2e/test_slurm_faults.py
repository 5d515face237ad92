"""Faults of a real Slurm cluster and of the way to the server: nothing is lost, nothing runs twice, no line is torn."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from azureml.core import Environment, Experiment, Run
from footplate.testing.slurm_cluster import SlurmCluster
from footplate.testing.waiting import wait_until

from ..cluster_runs import describe, log_of
from .test_slurm import cluster, server, target

__all__ = ["cluster", "server", "target"]  # fixtures

STEPS = """
import os, sys, time
from azureml.core import Run
folder, attempt, saved = sys.argv[1], int(os.environ["FOOTPLATE_ATTEMPT"]), "checkpoints/step"
run, step = Run.get_context(), int(open(saved).read()) if os.path.exists(saved) else 0
with open(os.path.join(folder, "starts"), "a") as file:
    file.write(f"{attempt} {os.getpid()} {os.uname().nodename}\\n")
os.makedirs("checkpoints", exist_ok=True)
while not os.path.exists(os.path.join(folder, "go")):
    run.log("loss", attempt, step=step)
    print("attempt", attempt, "step", step, flush=True)
    step += 1
    if step == 5 * attempt:
        with open(saved, "w") as file:
            file.write(str(step))
    time.sleep(0.05)
"""
"""Logs and prints steps without end, also when nobody listens. Each attempt saves once, five steps after the last."""


class Walk:
    """A run of STEPS."""

    def __init__(self, target: Any, environment: Environment, folder: Path) -> None:
        self._folder = folder
        config = describe(target, environment, STEPS, str(folder))
        config.run_config.max_attempts = 3
        self.run: Run = Experiment(target.workspace, "slurm").submit(config)

    def starts(self) -> list[tuple[int, int, str]]:
        """Return attempt, process and host of each start of the script."""
        path = self._folder / "starts"
        rows = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
        return [(int(attempt), int(pid), host) for attempt, pid, host in rows]

    def wait_for(self, attempt: int) -> Path:
        """Wait until lines and the checkpoint of this attempt have arrived; return the directory of its process."""
        wait_until(lambda: f"attempt {attempt} step {5 * attempt + 2}\n" in log_of(self.run))
        wait_until(lambda: self._saved() == str(5 * attempt))
        return Path(f"/proc/{self.starts()[-1][1]}")

    def _saved(self) -> str:
        if "checkpoints/step" not in self.run.get_file_names():
            return ""
        self.run.download_file("checkpoints/step", str(self._folder / "step"))
        return (self._folder / "step").read_text()

    def finish(self) -> None:
        """Let the script end, and check that every line and every step has arrived once."""
        (self._folder / "go").touch()
        self.run.wait_for_completion()
        last = self.run.attempt
        assert [attempt for attempt, _, _ in self.starts()] == [*range(1, last + 1)]
        parts = re.split(r"──── attempt \d · .* ────\n", log_of(self.run))
        ends = [0]
        for attempt, part in enumerate(parts, start=1):
            ends.append(5 * (attempt - 1) + len(part.splitlines()))
            steps = range(5 * (attempt - 1), ends[-1])
            assert part == "".join(f"attempt {attempt} step {step}\n" for step in steps)
        values = [attempt for attempt in range(1, last) for _ in range(5)]
        assert self.run.get_metrics()["loss"] == values + [last] * (ends[-1] - 5 * (last - 1))


def test_agents_on_lost_nodes_do_not_disturb_later_attempts(
    target: Any, cluster: SlurmCluster, here: Environment, tmp_path: Path
) -> None:
    """Slurm loses a node that is cut off, and one whose slurmd is killed. The scripts there live on for a while.

    The third attempt finds on its node what the first one could not deliver.
    """
    walk, first_node = Walk(target, here, tmp_path), cluster.network.nodes[0]
    first = walk.wait_for(1)
    cluster.network.cut(first_node)
    second = walk.wait_for(2)
    assert first.exists()
    cluster.network.restore(first_node)
    wait_until(lambda: not first.exists())
    cluster.wait_for_nodes("n0")
    assert list(cluster.disk("n0").glob("work/*"))

    cluster.call("scontrol", "update", "nodename=n2", "state=drain", "reason=test")
    cluster.kill_slurmd("n1")
    walk.wait_for(3)
    wait_until(lambda: not second.exists())
    walk.finish()
    assert [host for _, _, host in walk.starts()] == ["n0", "n1", "n0"]
    for node in ("n0", "n1"):
        wait_until(lambda node=node: not list(cluster.disk(node).glob("work/*")))
