from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from footplate.testing.waiting import wait_until
from support.networks import PrivateNetwork, why_no_namespaces
from support.slurm_cluster import SlurmCluster, why_no_slurm


def test_a_cluster_has_nodes_of_its_own_and_leaves_nothing(tmp_path: Path) -> None:
    if reason := why_no_slurm() or why_no_namespaces():
        pytest.skip(reason)
    (tmp_path / "secret").touch()
    network = PrivateNetwork(nodes=2)
    try:
        with SlurmCluster(network, hide=[tmp_path]) as cluster:
            look = f"hostname; ls {tmp_path}; ls {cluster.scratch}; touch {cluster.scratch}/$(hostname)"
            seen = cluster.call("srun", "--nodes=2", "--label", "sh", "-c", look)
            assert sorted(seen.splitlines()) == ["0: n0", "1: n1"]
            assert [os.listdir(cluster.disk(node)) for node in cluster.nodes] == [["n0"], ["n1"]]
            cluster.call("sbatch", "--nodes=2", "--output=/dev/null", "--wrap=srun sleep 1000")
            cluster.wait_for_nodes(*cluster.nodes, state="mixed")
            cluster.kill_node("n1")
            cluster.stop_controller()
            cluster.start_controller()
            assert cluster.call("squeue", "--noheader", "--format=%T") == "RUNNING"
        assert not cluster.folder.exists()
        wait_until(lambda: not _pids(network.server) and not any(map(_pids, network.nodes)))
    finally:
        network.close()


def _pids(namespace: str) -> str:
    done = subprocess.run(["ip", "netns", "pids", namespace], check=True, capture_output=True, text=True)
    return done.stdout.strip()
