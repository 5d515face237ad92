"""torch for machines without a GPU: PyPI has only builds with CUDA for Linux on x86-64.

Such a build needs the libraries of CUDA to be imported at all (tried with 1.13, 2.2, 2.6 and 2.11), so they cannot be
left out. Builds for CPUs come from an index of their own, `[environments] torch_cpu_index`.
"""

from __future__ import annotations

import os
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import replace

from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments import machine
from footplate.environments.base import ResolverSettings, Say
from footplate.errors import InvalidInput

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
_PACKAGES = ("torch", "torchvision", "torchaudio")
_PATIENCE_SECONDS = 5.0
_TORCH = re.compile(r"^torch==((\d+)\.(\d+)[^\s;\\+]*)(?=[\s;\\]|$)", re.MULTILINE)
_CUDA = re.compile(r"^(?:nvidia-|cuda-toolkit)[^\s=]*==", re.MULTILINE)
_FIRST_WITH_PACKAGES = (1, 13)  # until then, CUDA was in torch's own wheel


def prefer_cpu(
    spec: EnvironmentSpec, settings: ResolverSettings, say: Say, lock: Callable[[EnvironmentSpec], Lock]
) -> Lock:
    """Lock the spec; if that gives a torch with CUDA for a machine without GPU, lock it with the index of CPU builds.

    If that index does not help, the first lock is used, and a warning tells why.
    """
    locked = lock(spec)
    version = _torch_with_cuda(locked) if settings.cpu_builds else None
    if version is None:
        return locked
    index = settings.torch_cpu_index
    no_gpu = machine.without_gpu(settings)
    say(f"torch {version} contains CUDA, and {no_gpu}: looking for a CPU build")
    why = _why_unusable(index)
    if why is None:
        try:
            other = lock(replace(spec, requirements=(_extra(index), *spec.requirements)))
            if _torch_with_cuda(other) is None:
                return replace(
                    other,
                    warnings=(*other.warnings, f"{no_gpu}: the CPU build of torch {version} is installed from {index}"),
                )
            why = f"{index} has none of this version"
        except InvalidInput as error:
            why = f"{index} cannot be used: {error.message}"
    warning = f"torch {version} is installed with CUDA, about 3 GB, although {no_gpu}: PyPI has no CPU build, and {why}"
    return replace(locked, warnings=(*locked.warnings, warning))


def without_dates(lines: Sequence[str], index: str) -> list[str]:
    """Return uv's arguments that admit builds of the index, which does not tell when they were released."""
    if _extra(index) not in lines:
        return []
    return [word for name in _PACKAGES for word in ("--exclude-newer-package", f"{name}=false")]


def _extra(index: str) -> str:
    return f"--extra-index-url {index}"


def _torch_with_cuda(lock: Lock) -> str | None:
    """Return the version of a torch that contains CUDA; None for a build for CPUs, and without torch."""
    pins = str(lock.content.get("requirements") or "")
    match = _TORCH.search(pins) if str(lock.content.get("platform")).endswith(("x86_64", "linux-64")) else None
    if match is None:
        return None
    in_packages = (int(match[2]), int(match[3])) >= _FIRST_WITH_PACKAGES
    return match[1] if not in_packages or _CUDA.search(pins) else None


def _why_unusable(index: str) -> str | None:
    """Return why the index cannot be asked; None if it answers."""
    if not index:
        return "[environments] torch_cpu_index names no index of CPU builds"
    if index.startswith("file:"):
        folder = urllib.request.url2pathname(urllib.parse.urlsplit(index).path)
        return None if os.path.isdir(folder) else f"{index} is not a directory"
    try:
        urllib.request.urlopen(
            urllib.request.Request(f"{index.rstrip('/')}/torch/", method="HEAD"), timeout=_PATIENCE_SECONDS
        ).close()
    except urllib.error.HTTPError as error:
        return f"{index} answers {error.code}"
    except (OSError, ValueError) as error:
        return f"{index} cannot be reached ({getattr(error, 'reason', error)})"
    return None
