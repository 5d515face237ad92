"""GPUs found through NVML or nvidia-smi, and leases that outlive a killed agent as long as its ranks do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from footplate import environ
from footplate.domain.orders import ASSIGNED, Gpu, Lock, NodeOrders, Program
from footplate.node import gpus, host_info, preparation, process_tree
from footplate.node.gpu_leases import Leases

GIB = 1 << 30


class Library:
    """Two devices as `pynvml` shows them; the second does not report its use."""

    class NVMLError(Exception):
        pass

    nvmlMemory_v2 = 2

    def __init__(self, broken: bool = False) -> None:
        self._broken = broken

    def nvmlInit(self) -> None:
        if self._broken:
            raise self.NVMLError("no driver")

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetUUID(self, handle: int) -> str | bytes:
        return b"GPU-one" if handle else "GPU-zero"

    def nvmlDeviceGetName(self, handle: int) -> str:
        return "NVIDIA H200"

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:
        if handle:
            raise self.NVMLError("not supported")
        return SimpleNamespace(gpu=37)

    def nvmlDeviceGetMemoryInfo(self, handle: int, version: int = 1) -> Any:
        return SimpleNamespace(used=3 * GIB, total=140 * GIB)


FOUND = [Gpu(0, "GPU-zero", "NVIDIA H200", 140 * GIB), Gpu(1, "GPU-one", "NVIDIA H200", 140 * GIB)]


def test_nvml_reports_devices_and_their_use() -> None:
    driver = gpus.Nvml(Library())
    assert gpus.find(driver, None) == FOUND
    assert driver.uses() == [gpus.Use(0, 37.0, 3.0 * GIB, 140.0 * GIB)]


def test_nvml_without_a_driver_is_none() -> None:
    with pytest.raises(OSError, match="no driver"):
        gpus.Nvml(Library(broken=True))


@pytest.mark.parametrize(
    ("visible", "indices"),
    [("0,1", [0, 1]), ("1", [1]), ("", []), ("-1", []), ("GPU-on", [1]), ("1,-1,0", [1]), ("NoDevFiles", [])],
)
def test_cuda_visible_devices_selects_our_devices(visible: str, indices: list[int]) -> None:
    assert [gpu.index for gpu in gpus.find(gpus.Nvml(Library()), visible)] == indices


@pytest.mark.parametrize(
    ("chosen", "assigned", "others"),
    [
        ("", "1", []),
        ("-1", "1", []),
        ("1", "1", []),
        ("GPU-on", "1", []),
        ("1", "GPU-one", []),
        ("0,1", "1", ["0"]),
        ("GPU-zero", "1", ["GPU-zero"]),
        ("0", "", ["0"]),
        ("0", "NoDevFiles", ["0"]),
        ("MIG-a", "MIG-a,MIG-b", []),
        ("MIG-c", "MIG-a,MIG-b", ["MIG-c"]),
    ],
)
def test_a_run_selects_among_the_assigned_devices_only(chosen: str, assigned: str, others: list[str]) -> None:
    driver = gpus.Nvml(Library())
    assert gpus.beyond(chosen, assigned, gpus.find(driver, assigned)) == others


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


@pytest.mark.parametrize(
    ("bundle", "visible", "assigned"), [("b", "", True), ("b", "1", True), ("b", None, False), (None, "1", False)]
)
def test_a_node_reports_whether_its_engine_chose_the_devices(
    monkeypatch: pytest.MonkeyPatch, bundle: str | None, visible: str | None, assigned: bool
) -> None:
    for name, value in ((environ.BUNDLE, bundle), ("CUDA_VISIBLE_DEVICES", visible)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    assert host_info.describe()[ASSIGNED] is assigned


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


# ── Leases ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Enough(Exception):
    pass


def give_up(why: str) -> None:
    raise Enough(why)


def lease(home: Path, run: str) -> Leases:
    return Leases(str(home), process_tree.marker(run, 0, str(home / run)))


def test_a_device_is_leased_once(tmp_path: Path) -> None:
    mine, other = lease(tmp_path, "mine"), lease(tmp_path, "other")
    mine.take(["GPU-a", "GPU-b"], give_up)
    mine.take(["GPU-a"], give_up)
    with pytest.raises(Enough, match="GPU-b is still held by mine"):
        other.take(["GPU-b"], give_up)
    assert other.take_back(["GPU-a"]) == ["GPU-a"]
    mine.release()
    other.take(["GPU-a", "GPU-b"], give_up)
    other.release()


HOLDS = """
import sys
from footplate.node import process_tree
from footplate.node.gpu_leases import Leases
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
