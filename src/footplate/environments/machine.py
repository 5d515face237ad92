"""The machine that an environment is resolved for: this one, or a node of another kind.

Agents import this module on nodes whose Python is too old for current releases of `packaging`, so it needs little.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from footplate.domain.inherited_variables import build_variables
from footplate.domain.node_kinds import NodeKind
from footplate.environments.base import ResolverSettings, Say
from footplate.errors import InvalidInput
from footplate.lazy import Deferred

if TYPE_CHECKING:
    from footplate.environments import pythons, uv
    from footplate.environments.containers import container_engine
    from footplate.environments.pythons import Python, Version
else:  # a server starts sooner without these
    pythons = Deferred("footplate.environments.pythons")
    uv = Deferred("footplate.environments.uv")
    container_engine = Deferred("footplate.environments.containers.container_engine")

_GPU_DEVICES = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg")
_SOURCE_OF_PYTHONS = "https://github.com"
_PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
_CONNECT_SECONDS = 3.0
_SMI_SECONDS = 30.0


# ── This machine ──────────────────────────────────────────────────────────────────────────────────────────────────────


def machine_has_mpi() -> bool:
    return any(shutil.which(name) for name in ("mpirun", "mpiexec"))


def machine_has_gpu() -> bool:
    return any(map(os.path.exists, _GPU_DEVICES))


def libc_version() -> str:
    """Return the version of the GNU C library; empty if the machine has another one."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except ValueError:
        return ""
    return version if name == "glibc" else ""


def describe_machine(root: Path, has_gpu: bool) -> NodeKind:
    """Return the kind of this machine. It starts a few programs, so it takes up to a second or so.

    `has_gpu`: whether the run may use a GPU here; the machine may have others.
    """
    engine = container_engine.find()
    return NodeKind(
        machine=os.uname().machine,
        libc=libc_version(),
        gpu=has_gpu,
        cuda=_cuda_version() if has_gpu else "",
        mpi=machine_has_mpi(),
        containers=engine.name if engine else "",
        pythons={python.path: pythons.dotted(python.version) for python in pythons.installed(root)},
        fetches_pythons=_fetches_pythons(),
    )


def _cuda_version() -> str:
    program = shutil.which("nvidia-smi")
    try:
        text = program and subprocess.run(
            [program], capture_output=True, text=True, errors="replace", timeout=_SMI_SECONDS, check=False,
            env=build_variables(os.environ),
        ).stdout  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = re.search(r"CUDA Version:\s*(\d+\.\d+)", text or "")
    return match[1] if match else ""


def _fetches_pythons() -> bool:
    """Whether uv can probably download a Python. Behind a proxy this cannot be known, and we assume that it can."""
    if os.environ.get("UV_PYTHON_DOWNLOADS") == "never" or os.environ.get("UV_OFFLINE"):
        return False
    source = urlsplit(os.environ.get("UV_PYTHON_INSTALL_MIRROR") or _SOURCE_OF_PYTHONS)
    if source.scheme == "file":
        return os.path.isdir(source.path)
    if any(os.environ.get(name) for name in _PROXIES):
        return True
    try:
        socket.create_connection((source.hostname or "", source.port or 443), timeout=_CONNECT_SECONDS).close()
    except (OSError, ValueError):
        return False
    return True


# ── The machine that settings resolve for ─────────────────────────────────────────────────────────────────────────────


def has_mpi(settings: ResolverSettings) -> bool:
    return machine_has_mpi() if settings.node is None else settings.node.mpi


def platform_of(settings: ResolverSettings) -> str:
    return sysconfig.get_platform() if settings.node is None else f"linux-{settings.node.machine}"


def label(settings: ResolverSettings) -> str:
    return "this machine" if settings.node is None else "the nodes of this compute target"


def without_gpu(settings: ResolverSettings) -> str:
    return f"{label(settings)} {'has' if settings.node is None else 'have'} no GPU"


def installed(settings: ResolverSettings) -> list[Python]:
    """Return the Pythons that can run a job there."""
    node = settings.node
    if node is None:
        return pythons.installed(settings.root)
    all_pythons = [pythons.Python(path, _numbers(version)) for path, version in node.pythons.items()]
    return [python for python in all_pythons if python.version >= pythons.OLDEST]


def default_version(settings: ResolverSettings) -> Version:
    """Return the version for a run that names none: that of this process, or the nearest that there is."""
    own = sys.version_info[:2]
    if settings.node is None or settings.node.fetches_pythons:
        return own
    nearest = pythons.by_nearness(own, installed(settings))
    return nearest[0].version[:2] if nearest else own


def find_python(version: Version, settings: ResolverSettings, say: Say) -> Python | None:
    """Return a Python of this version there, downloaded if necessary; None if there is none."""
    if settings.node is None:
        return pythons.find(version, settings.root) or pythons.download(version, settings.root, say)
    fitting = [python for python in installed(settings) if pythons.matches(python, version)]
    if not fitting and settings.node.fetches_pythons and version >= pythons.OLDEST:
        return pythons.Python("", version)  # the node will download it
    return max(fitting, key=lambda python: python.version, default=None)


def python_at(path: str, settings: ResolverSettings) -> Python:
    """Return the interpreter that an environment names by its path."""
    if settings.node is None:
        return pythons.Python(path, ())
    version = settings.node.pythons.get(path)
    numbers = _numbers(version) if version else pythons.version_of(path)  # perhaps both machines have it
    if numbers is None:
        raise InvalidInput(
            f"no Python {path!r} is known on {label(settings)}",
            f"use a version instead of a path, or one of: {', '.join(settings.node.pythons) or 'none was found'}",
        )
    return pythons.Python(path, numbers)


def uv_selection(python: Python, settings: ResolverSettings) -> list[str]:
    """Return uv's arguments that resolve for this Python there."""
    node = settings.node
    if node is None:
        return ["--python", python.path]
    # Packages without metadata are built to learn it: by a Python of the same version if this machine has one.
    own = pythons.find(python.version[:2], settings.root)
    select = ["--python", own.path if own else sys.executable, "--python-version", pythons.dotted(python.version)]
    if (node.machine, node.libc) == (os.uname().machine, libc_version()):
        return select
    return [*select, "--python-platform", node_platform(node)]


def node_platform(node: NodeKind) -> str:
    """Return uv's name for the platform of a node."""
    return uv.uv_platform(node.machine, node.libc) if node.libc else f"{node.machine}-unknown-linux-musl"


def _numbers(version: str) -> Version:
    return tuple(int(part) for part in version.split("."))
