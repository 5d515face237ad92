"""Faults of a real Slurm cluster and of the way to the server: nothing is lost, nothing runs twice, no line is torn."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from azureml.core import Environment
from footplate.testing.waiting import wait_until
from support.cluster_runs import Walk
from support.networks import ServerInside
from support.slurm_cluster import SlurmCluster

from .test_slurm import cluster, server, target

__all__ = ["cluster", "server", "target"]  # fixtures


def test_a_minute_without_the_server_and_without_a_network_loses_nothing(
    target: Any, server: ServerInside, cluster: SlurmCluster, here: Environment, tmp_path: Path
) -> None:
    """First the answers of the server are lost on their way to the agent, and then the server is away for a minute."""
    walk = Walk(target, here, tmp_path)
    walk.wait_for(1)
    cluster.network.silence(8000)
    walk.wait_for_steps(100)
    cluster.network.let_speak(8000)
    server.stop()
    time.sleep(60)
    server.start()
    walk.finish()
    assert walk.run.attempt == 1


def test_agents_on_lost_nodes_do_not_disturb_later_attempts(
    target: Any, cluster: SlurmCluster, here: Environment, tmp_path: Path
) -> None:
    """Slurm loses a node that is cut off, and one whose slurmd is killed. The scripts there live on for a while.

    The third attempt finds on its node what the first one could not deliver: Slurm ends that one, and it does not learn
    from the server, whose answers are lost meanwhile, that it could have ended by itself.
    """
    walk, first_node = Walk(target, here, tmp_path), cluster.network.nodes[0]
    first = walk.wait_for(1)
    cluster.network.cut(first_node)
    second = walk.wait_for(2)
    assert first.exists()
    cluster.network.silence(8000)
    cluster.network.restore(first_node)
    wait_until(lambda: not first.exists())
    cluster.wait_for_nodes("n0")
    cluster.network.let_speak(8000)
    assert list(cluster.disk("n0").glob("work/*"))

    cluster.call("scontrol", "update", "nodename=n2", "state=drain", "reason=test")
    cluster.kill_slurmd("n1")
    walk.wait_for(3)
    wait_until(lambda: not second.exists())
    walk.finish()
    assert [host for _, _, host in walk.starts()] == ["n0", "n1", "n0"]
    for node in ("n0", "n1"):
        wait_until(lambda node=node: not list(cluster.disk(node).glob("work/*")))
