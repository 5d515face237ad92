"""Samples the machine while the ranks run, as series of the run such as `system/node_0/cpu_percent`.

The sampler has its own thread and its own journal, which is shipped like any other and marked as the system's.
"""

from __future__ import annotations

import importlib
import os
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from footplate.job.journal import Journal
from footplate.lazy import Deferred
from footplate.node import gpus, host_info, process_tree
from footplate.node.log import say
from footplate.node.node_directory import see_installed_packages

if TYPE_CHECKING:
    import psutil
else:  # it is in site-packages, which agents have on their path only when they need it
    psutil = Deferred("psutil")

OFTEN_SECONDS, SELDOM_SECONDS = 1.0, 5.0
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")


class Sampler:
    def __init__(
        self,
        folder: str,
        node: int,
        disk: str,
        attempt: int = 1,
        gpus: Sequence[str] | None = None,
    ) -> None:
        # A journal has one writer: another attempt, or an agent that replaces a dead one, opens another.
        name = f"node_{node}" + (f"_attempt_{attempt}" if attempt > 1 else "")
        is_in_use = os.path.exists(os.path.join(folder, f"{name}.slots"))
        self._journal = Journal(folder, f"{name}_{os.getpid()}" if is_in_use else name)
        self._prefix = f"system/node_{node}/"
        self._disk = disk
        self._gpus = gpus
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        host_info.step_back()
        try:
            host = _Machine(self._disk)
        except ImportError as error:  # a machine of another kind than the server's, without psutil
            say(f"the machine cannot be sampled: {error}")
            self._journal.close()
            return
        devices = _Gpus(self._gpus)
        ranks = _Ranks()
        began = time.monotonic()
        try:
            while not self._over.wait(_pause(time.monotonic() - began)):
                self._write({**host.sample(), **devices.sample(), **ranks.sample()})
            self._write({**host.sample(), **devices.sample()})
        except OSError:
            pass  # a full disk: the ranks will report it
        finally:
            self._journal.close()

    def _write(self, values: dict[str, float]) -> None:
        for name, value in values.items():
            self._journal.log(self._prefix + name, float(value))


def _pause(elapsed: float) -> float:
    """Return a tenth of the elapsed time: short runs get a curve, long runs are left in peace."""
    return min(max(OFTEN_SECONDS, elapsed / 10), SELDOM_SECONDS)


def preload() -> None:
    """Import psutil."""
    see_installed_packages()
    importlib.import_module("psutil")


class _Machine:
    def __init__(self, disk: str) -> None:
        preload()
        self._disk = disk
        psutil.cpu_percent()  # from here on each call returns the use since the last one
        self._before = self._counters()

    def sample(self) -> dict[str, float]:
        memory = psutil.virtual_memory()
        space = psutil.disk_usage(self._disk)
        values = {
            "cpu_percent": psutil.cpu_percent(),
            "memory_used_bytes": memory.total - memory.available,
            "memory_percent": memory.percent,
            "disk_free_bytes": space.free,
        }
        since_start = {name: count - self._before.get(name, 0) for name, count in self._counters().items()}
        return {**values, **since_start}

    def _counters(self) -> dict[str, int]:
        """Return the kernel's counters, which count since the boot of the machine."""
        disk = psutil.disk_io_counters()
        network: Any = psutil.net_io_counters()  # None, whatever its type says, on a machine without a network
        counts: dict[str, int] = {}
        if disk is not None:
            counts.update(disk_read_bytes=disk.read_bytes, disk_write_bytes=disk.write_bytes)
        if network is not None:
            counts.update(network_received_bytes=network.bytes_recv, network_sent_bytes=network.bytes_sent)
        return counts


class _Ranks:
    """Memory and CPUs of the ranks and everything they started; shared pages count once per process."""

    def __init__(self) -> None:
        self._pids: list[int] = []
        self._next = 0.0
        self._spent: dict[int, float] = {}
        self._at = time.monotonic()

    def sample(self) -> dict[str, float]:
        if time.monotonic() >= self._next:  # listing the processes is the expensive part
            self._pids = process_tree.below(os.getpid())
            self._next = time.monotonic() + SELDOM_SECONDS
        memory = float(sum(_resident(pid) for pid in self._pids))
        return {"process_tree_rss_bytes": memory, "process_tree_cpu_cores": self._cores()}

    def _cores(self) -> float:
        """Return the CPUs that were busy since the last sample, in processes that both samples know."""
        before, began = self._spent, self._at
        self._spent = {pid: _cpu_seconds(pid) for pid in self._pids}
        self._at = time.monotonic()
        spent = sum(max(0.0, now - before[pid]) for pid, now in self._spent.items() if pid in before)
        return spent / max(self._at - began, 1e-3)


def _resident(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def _cpu_seconds(pid: int) -> float:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            user, system = file.read().rpartition(b")")[2].split()[11:13]
            return (int(user) + int(system)) / _TICKS
    except (OSError, ValueError):
        return 0.0


class _Gpus:
    """The GPUs of the run, or all of them if `wanted` is None."""

    def __init__(self, uuids: Sequence[str] | None) -> None:
        self._driver = gpus.open_driver() if uuids is None or uuids else None
        devices = gpus.find(self._driver, None)
        self._indices = {gpu.index for gpu in devices if uuids is None or gpu.uuid in uuids}
        self._next = 0.0

    def sample(self) -> dict[str, float]:
        values: dict[str, float] = {}
        for use in self._uses():
            values[f"gpu_{use.index}_percent"] = use.percent
            values[f"gpu_{use.index}_memory_used_bytes"] = use.used
            values[f"gpu_{use.index}_memory_percent"] = 100.0 * use.used / (use.memory or 1.0)
        return values

    def _uses(self) -> list[gpus.Use]:
        if self._driver is None or time.monotonic() < self._next:
            return []
        if isinstance(self._driver, gpus.Smi):  # starts a program for each sample
            self._next = time.monotonic() + SELDOM_SECONDS
        try:
            return [use for use in self._driver.uses() if use.index in self._indices]
        except OSError:
            return []
