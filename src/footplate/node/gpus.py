"""The GPUs of this machine: their discovery, their use while the ranks run, and leases on them.

NVIDIA's library answers where its Python binding is installed (the extra `gpu`), `nvidia-smi` where it is not.
Without a driver there are no GPUs, and finding that out costs next to nothing.

A lease on a GPU is a locked file, `gpus/<uuid>.lock`, held as long as the agent lives. The lock dies with the agent,
but its ranks may live on. So the file records the marker of the holder's processes, and an agent that finds the lock
free checks that none of them still runs.
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from footplate import environ
from footplate.disk import FileLock
from footplate.domain.orders import Gpu
from footplate.domain.values import Value
from footplate.lazy import Deferred
from footplate.node import process_tree
from footplate.node.node_directory import see_installed_packages

if TYPE_CHECKING:
    import subprocess
else:
    subprocess = Deferred("subprocess")


_DRIVERS = ("/dev/nvidiactl", "/dev/dxg", "/proc/driver/nvidia/version")
_SMI_SECONDS = 30.0
_MIB = 1 << 20


class Use(Value):
    """The current use of one GPU: utilization in percent, and bytes of memory in use."""

    index: int
    percent: float
    used: float
    memory: float


class Driver(Protocol):
    """A source of information about GPUs. Methods raise OSError if the devices do not answer."""

    def devices(self) -> list[Gpu]: ...

    def uses(self) -> list[Use]: ...


def _find_program(name: str) -> str | None:
    """Do what `shutil.which` does, without the import of `shutil`, for which machines without a GPU would wait."""
    paths = (os.path.join(folder, name) for folder in os.get_exec_path())
    return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), None)


def open_driver() -> Driver | None:
    """Return a driver for the GPUs of this machine; None if there are none."""
    program = _find_program("nvidia-smi")
    if program is None and not any(os.path.exists(path) for path in _DRIVERS):
        return None
    try:
        see_installed_packages()
        return Nvml(importlib.import_module("pynvml"))
    except (ImportError, OSError):
        return Smi(program) if program else None


def find(driver: Driver | None, visible: str | None) -> list[Gpu]:
    """Return the GPUs that may be assigned. `visible` is the agent's own CUDA_VISIBLE_DEVICES."""
    try:
        devices = driver.devices() if driver is not None else []
    except OSError:
        return []
    return devices if visible is None else [gpu for gpu in devices if _is_named(gpu, visible)]


def beyond(chosen: str, assigned: str, devices: Sequence[Gpu]) -> list[str]:
    """Return the names in `chosen` that mean none of the assigned devices."""
    own = _names(assigned)
    return [name for name in _names(chosen) if name not in own and not any(_is_named(gpu, name) for gpu in devices)]


def _names(visible: str) -> list[str]:
    """Return the names of devices in CUDA_VISIBLE_DEVICES, up to the first value that is none."""
    parts = (part.strip() for part in visible.split(","))
    return list(itertools.takewhile(lambda name: name.isdigit() or name.startswith(("GPU-", "MIG-")), parts))


def _is_named(gpu: Gpu, visible: str) -> bool:
    """Read the variable as CUDA does: numbers, or beginnings of UUIDs."""
    return any(int(name) == gpu.index if name.isdigit() else gpu.uuid.startswith(name) for name in _names(visible))


class Nvml:
    """NVIDIA's management library through its binding `pynvml`, which tests replace."""

    def __init__(self, library: Any) -> None:
        self._library = library
        try:
            library.nvmlInit()
            count = library.nvmlDeviceGetCount()
            self._handles = [library.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
        except library.NVMLError as error:
            raise OSError(f"NVML: {error}") from None

    def devices(self) -> list[Gpu]:
        try:
            return [self._device(index, handle) for index, handle in enumerate(self._handles)]
        except self._library.NVMLError as error:
            raise OSError(f"NVML: {error}") from None

    def _device(self, index: int, handle: Any) -> Gpu:
        library = self._library
        uuid, name = library.nvmlDeviceGetUUID(handle), library.nvmlDeviceGetName(handle)
        return Gpu(index, _words(uuid), _words(name), int(self._memory(handle).total))

    def uses(self) -> list[Use]:
        uses: list[Use] = []
        for index, handle in enumerate(self._handles):
            try:
                rates = self._library.nvmlDeviceGetUtilizationRates(handle)
                memory = self._memory(handle)
            except self._library.NVMLError:
                continue  # for example a device that was reset; the others go on
            uses.append(Use(index, float(rates.gpu), float(memory.used), float(memory.total)))
        return uses

    def _memory(self, handle: Any) -> Any:
        """Count memory as nvidia-smi does: the older call includes memory that the driver reserves."""
        try:
            return self._library.nvmlDeviceGetMemoryInfo(handle, self._library.nvmlMemory_v2)
        except (AttributeError, TypeError, self._library.NVMLError):  # an old binding, or an old driver
            return self._library.nvmlDeviceGetMemoryInfo(handle)


def _words(text: str | bytes) -> str:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


class Smi:
    """The driver's own program, nvidia-smi."""

    def __init__(self, program: str) -> None:
        self._program = program

    def devices(self) -> list[Gpu]:
        rows = self._ask("index", "uuid", "name", "memory.total")
        return [Gpu(int(index), uuid, name, int(_number(memory) * _MIB)) for index, uuid, name, memory in rows]

    def uses(self) -> list[Use]:
        rows = self._ask("index", "utilization.gpu", "memory.used", "memory.total")
        return [Use(int(i), _number(use), _number(used) * _MIB, _number(total) * _MIB) for i, use, used, total in rows]

    def _ask(self, *fields: str) -> list[list[str]]:
        argv = [self._program, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
        try:
            done = subprocess.run(argv, capture_output=True, text=True, timeout=_SMI_SECONDS, check=True)
        except subprocess.SubprocessError as error:
            raise OSError(f"{self._program}: {error}") from None
        rows = [[part.strip() for part in line.split(",")] for line in done.stdout.splitlines()]
        return [row for row in rows if len(row) == len(fields) and row[0].isdigit()]


def _number(text: str) -> float:
    """Return 0 for a value that the driver does not provide for this device and prints as [N/A]."""
    try:
        return float(text)
    except ValueError:
        return 0.0


_PAUSE_SECONDS = 0.2


class Leases:
    def __init__(self, home: str, marker: Mapping[str, str]) -> None:
        self._folder = os.path.join(home, "gpus")
        self._marker = dict(marker)
        self._leases: dict[str, FileLock] = {}

    def take(self, uuids: Sequence[str], wait: Callable[[str], None]) -> None:
        """Return when all GPUs are leased. While one is not, call `wait(reason)`, which may raise to give up."""
        for uuid in sorted(uuids):
            while (obstacle := self._try(uuid)) is not None:
                wait(obstacle)
                time.sleep(_PAUSE_SECONDS)

    def take_back(self, uuids: Sequence[str]) -> list[str]:
        """Lease again, after the death of an agent whose ranks live on; return GPUs that could not be leased."""
        return [uuid for uuid in uuids if self._try(uuid) is not None]

    def release(self) -> None:
        for lock in self._leases.values():
            os.ftruncate(lock.file, 0)
            lock.close()
        self._leases.clear()

    def _try(self, uuid: str) -> str | None:
        """Return None if the GPU is leased now, else the reason why it is not."""
        if uuid in self._leases:
            return None
        os.makedirs(self._folder, exist_ok=True)
        path = os.path.join(self._folder, f"{uuid.replace(os.sep, '_')}.lock")
        lock = FileLock(path)
        try:
            if not lock.try_take():
                return f"GPU {uuid} is still held by {_read(lock.file).get(environ.RUN_ID, 'another run')}"
            orphans = self._find_orphans(_read(lock.file))
            if orphans:
                return f"GPU {uuid} is still used by process {orphans[0]} of a node that was lost"
            os.ftruncate(lock.file, 0)
            os.pwrite(lock.file, json.dumps(self._marker).encode(), 0)
            self._leases[uuid] = lock
            return None
        finally:
            if uuid not in self._leases:
                lock.close()

    def _find_orphans(self, marker: dict[str, Any]) -> list[int]:
        """Return processes of the last holder that outlived its agent. Our own ranks, after a change of agents, do not
        count.
        """
        return [] if not marker or marker == self._marker else process_tree.members(marker)


def _read(file: int) -> dict[str, Any]:
    try:
        return json.loads(os.pread(file, 4096, 0) or b"{}")
    except ValueError:
        return {}
