"""The GPUs of this machine: their discovery, and their use while the ranks run.

NVIDIA's library answers where its Python binding is installed (the extra `gpu`), `nvidia-smi` where it is not.
Without a driver there are no GPUs, and finding that out costs next to nothing.
"""

from __future__ import annotations

import importlib
import itertools
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from footplate.domain.orders import Gpu
from footplate.domain.values import Value
from footplate.lazy import Deferred
from footplate.node.node_directory import see_installed_packages

if TYPE_CHECKING:
    import subprocess
else:  # machines without a GPU do not wait for it
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
