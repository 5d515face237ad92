"""GPUs found through NVML or nvidia-smi, and leases that outlive a killed agent as long as its ranks do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from footplate import environ
from footplate.domain.orders import Lock, NodeOrders, Program
from footplate.node import gpus, preparation, process_tree
from footplate.node.gpus import Leases

from ...unit.node.test_gpus import FOUND, GIB, Enough, give_up, lease


def test_a_run_that_selects_gpus_of_others_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    smi(tmp_path, "0, GPU-zero, H200, 1\n1, GPU-one, H200, 1\n")
    lock, chosen = Lock("d", "existing", {}), {"CUDA_VISIBLE_DEVICES": "0,1"}
    orders = NodeOrders("r", 3, 1, False, False, Program("s.py"), lock, None, chosen)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    preparation.check_gpus(orders)  # on the server's own machine, users choose
    monkeypatch.setenv(environ.BUNDLE, "b" * 64)
    with pytest.raises(preparation.Failed) as failed:
        preparation.check_gpus(orders)
    assert failed.value.cause.node == 3
    assert failed.value.cause.message == (
        "the run sets CUDA_VISIBLE_DEVICES=0,1, and 0 is not among the GPUs of this node that the cluster has "
        "assigned to it (1)"
    )
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    preparation.check_gpus(orders)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    preparation.check_gpus(orders)


def smi(folder: Path, answer: str) -> gpus.Smi:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{answer}\nEND\n")
    program.chmod(0o755)
    return gpus.Smi(str(program))


def test_nvidia_smi_reports_the_same(tmp_path: Path) -> None:
    driver = smi(tmp_path, "0, GPU-zero, NVIDIA H200, 143360\n1, GPU-one, NVIDIA H200, 143360")
    assert gpus.find(driver, None) == FOUND
    assert smi(tmp_path, "0, 37, 3072, 143360\n1, [N/A], 0, 143360").uses() == [
        gpus.Use(0, 37.0, 3.0 * GIB, 140.0 * GIB),
        gpus.Use(1, 0.0, 0.0, 140.0 * GIB),
    ]


def test_a_failing_nvidia_smi_finds_nothing(tmp_path: Path) -> None:
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho NVIDIA-SMI has failed\nexit 9\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    assert gpus.find(gpus.Smi(str(tmp_path / "nvidia-smi")), None) == []
    assert gpus.find(None, None) == []


HOLDS = """
import sys
from footplate.node import process_tree
from footplate.node.gpus import Leases
leases = Leases(sys.argv[1], process_tree.marker("lost", 0, sys.argv[1] + "/lost"))
leases.take(["GPU-a"], print)
print("held", flush=True)
sys.stdin.read()
"""


def test_ranks_of_a_dead_agent_still_block_their_gpus(tmp_path: Path) -> None:
    agent = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert agent.stdout is not None
    assert agent.stdout.readline() == b"held\n"
    marker = process_tree.marker("lost", 0, f"{tmp_path}/lost")
    rank = subprocess.Popen(["sleep", "60"], env={**os.environ, **marker})
    try:
        agent.kill()
        agent.wait(120)
        with pytest.raises(Enough, match=f"still used by process {rank.pid} of a node that was lost"):
            lease(tmp_path, "next").take(["GPU-a"], give_up)
        again = Leases(str(tmp_path), marker)
        assert again.take_back(["GPU-a"]) == [], "the agent that takes over has it again"
        again.release()
    finally:
        rank.kill()
        rank.wait(120)
    following = lease(tmp_path, "next")
    following.take(["GPU-a"], give_up)
    following.release()
