"""GPUs found through NVML or nvidia-smi, and leases that outlive a killed agent as long as its ranks do."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from footplate import environ
from footplate.domain.orders import ASSIGNED, Gpu
from footplate.node import gpus, host_info, process_tree
from footplate.node.gpus import Leases

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
