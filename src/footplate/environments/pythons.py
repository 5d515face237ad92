"""The Pythons of this machine, and the choice among them."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Tuple

from footplate.domain.inherited_variables import build_variables
from footplate.environments.base import OLDEST, Say
from footplate.environments.built_environments import own_size
from footplate.environments.uv import run_uv
from footplate.errors import InvalidInput

Version = Tuple[int, ...]
_EXACT = re.compile(r"={0,2}(\d+(?:\.\d+){0,2})(?:\.\*)?")
_BOUND = re.compile(r"(>=|<=|==|!=|~=|>|<)(\d+(?:\.\d+){0,2}(?:\.\*)?)")
_PROBE = "import sys; print('%d.%d.%d' % sys.version_info[:3], sys.implementation.name)"
_ENDS: dict[Version, str] = {(2, 7): "2020-01-01", (3, 5): "2020-09-30", (3, 6): "2021-12-23", (3, 7): "2023-06-27"}
_LAST_RELEASES: dict[Version, str] = {(3, 6): "2020-12-25", (3, 7): "2021-12-30"}
_NUMERIC = ("numpy", "pandas", "scipy", "scikit-learn", "matplotlib")
"""Packages that stop supporting a Python long before its end, with releases that break scripts for it."""

STORE = ".pythons"
_OF_TEMPLATES = ("3.8.13", "3.10.18")
"""Versions that Azure's templates for conda files contain; nobody chose them, and no patch version of them matters."""

_known: dict[tuple[str, int, int], Version | None] = {}


@dataclass(frozen=True)
class Python:
    path: str
    version: Version

    @property
    def minor(self) -> str:
        return f"{self.version[0]}.{self.version[1]}"


def exact_version(requested: str | None) -> str | None:
    """Return the one version that somebody requested; None for a range, and for the version of a template."""
    exact = _EXACT.fullmatch(requested.replace(" ", "")) if requested is not None else None
    return exact[1] if exact is not None and exact[1] not in _OF_TEMPLATES else None


def is_our_choice(requested: str | None) -> bool:
    """Whether nobody requested this version: it is None, or a template's."""
    return requested is None or (
        exact_version(requested) is None and _EXACT.fullmatch(requested.replace(" ", "")) is not None
    )


def choose(requested: str | None, available: Callable[[], Iterable[Python]]) -> Version:
    """Return the requested version as numbers: our own for None, for a range the newest available version inside it."""
    if requested is None:
        return sys.version_info[:2]
    text = requested.replace(" ", "")
    exact = _EXACT.fullmatch(text)
    if exact:
        version = tuple(int(part) for part in exact[1].split("."))
        return version[:2] if is_our_choice(requested) else version
    bounds = [_BOUND.fullmatch(part) for part in text.split(",")]
    if not all(bounds):
        raise InvalidInput(f"{requested!r} is not a Python version", "give one such as 3.11, or a range: >=3.9,<3.12")
    candidates = sorted(available(), key=lambda python: python.version, reverse=True)
    for python in candidates:
        if all(_admits(bound[1], bound[2], python.version) for bound in bounds if bound):
            return python.version[:2]
    # The whole range is too old for jobs: the nearest version will be used, if any.
    for minor in range(OLDEST[1] - 1, -1, -1):
        if all(_admits(bound[1], bound[2], (OLDEST[0], minor, 99)) for bound in bounds if bound):
            return (OLDEST[0], minor)
    versions = ", ".join(dotted(python.version) for python in candidates)
    raise InvalidInput(
        f"no Python on this machine matches {requested}", f"install one, or request one of the available: {versions}"
    )


def _admits(sign: str, bound: str, version: Version) -> bool:
    """Compare a version with one bound: `==3.9` and `!=3.9.*` cover all of 3.9, the others read missing digits as
    zeros."""
    number = tuple(int(part) for part in bound.split(".") if part != "*")
    same = version[: len(number)] == number
    if sign in ("==", "!="):
        return same == (sign == "==")
    if sign == "~=":
        return version >= number and version[: len(number) - 1] == number[:-1]
    padded = (*number, 0, 0)[:3]
    signs = {">=": version >= padded, ">": version > padded, "<=": version <= padded or same, "<": version < padded}
    return signs[sign]


def end_of_life(requested: Version) -> str | None:
    """Return the day on which support for a Python that is too old for jobs ended; None for others."""
    return _ENDS.get(requested[:2]) if requested < OLDEST else None


def last_releases(requested: Version) -> dict[str, str]:
    """Return, for a Python that is too old for jobs, packages and the day of their last releases for it."""
    day = _LAST_RELEASES.get(requested[:2])
    return dict.fromkeys(_NUMERIC, day) if day else {}


def dotted(version: Version) -> str:
    return ".".join(map(str, version))


def matches(python: Python, requested: Version) -> bool:
    return python.version[: len(requested)] == requested


def installed(root: Path) -> list[Python]:
    """Return the Pythons that can run a job: the newest patch of each minor version, but our own for its minor
    version."""
    best: dict[Version, Python] = {}
    for path in _places(root):
        version = version_of(path)
        if version is None or version < OLDEST:
            continue
        minor = version[:2]
        ours = path == sys.executable
        if minor not in best or (version > best[minor].version and best[minor].path != sys.executable) or ours:
            best[minor] = Python(path, version)
    return list(best.values())


def find(requested: Version, root: Path) -> Python | None:
    """Return a Python that matches the requested version as far as it is given; our own if it matches."""
    exact = [Python(path, version) for path in _places(root) if (version := version_of(path)) and version >= OLDEST]
    fitting = [python for python in exact if matches(python, requested)]
    ours = [python for python in fitting if python.path == sys.executable]
    return next(iter(ours), None) or max(fitting, key=lambda python: python.version, default=None)


def by_nearness(requested: Version, pythons: Iterable[Python]) -> list[Python]:
    """Sort by distance of the minor version; of two equally near ones the newer comes first, because code moves
    forward."""
    major, minor = (*requested, 0)[:2]

    def distance(python: Python) -> tuple[int, int, int]:
        away = python.version[1] - minor
        return abs(python.version[0] - major), abs(away), -away

    return sorted(pythons, key=distance)


def download(requested: Version, root: Path, say: Say) -> Python | None:
    """Download one of uv's own builds where they can be reached; uv's settings decide whether it may."""
    if requested < OLDEST:
        return None
    variables = {"UV_PYTHON_INSTALL_DIR": str(root / STORE), "UV_HTTP_RETRIES": "0", "UV_HTTP_TIMEOUT": "30"}
    arguments = ["python", "install", "--no-bin", dotted(requested)]
    code, _, _ = run_uv(arguments, say, root, variables=variables)
    return find(requested, root) if code == 0 else None


def clear(root: Path, before: float) -> int:
    """Remove Pythons that uv downloaded before this time and that no environment uses; return the bytes that this
    freed."""
    used = {os.path.realpath(path) for path in root.glob("*/bin/python")}
    freed = 0
    for folder in (root / STORE).glob("*-*/"):
        place = os.path.join(os.path.realpath(folder), "")
        if os.stat(folder).st_mtime >= before or any(path.startswith(place) for path in used):
            continue
        if folder.is_symlink():  # the name without a patch version, a link to the directory with one
            folder.unlink()
            continue
        freed += own_size(folder)
        shutil.rmtree(folder, ignore_errors=True)
    return freed


def _places(root: Path) -> Iterator[str]:
    yield sys.executable
    pyenv = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    managed = os.environ.get("UV_PYTHON_INSTALL_DIR") or os.path.expanduser("~/.local/share/uv/python")
    for pattern in (f"{pyenv}/versions/*/bin", f"{root}/{STORE}/*/bin", f"{managed}/*/bin"):
        for folder in sorted(glob.glob(pattern)):
            yield os.path.join(folder, "python3")
    for folder in os.get_exec_path():
        if (
            os.path.basename(folder) == "shims"
        ):  # pyenv's shims start the version that is selected at the moment, or nothing
            continue
        for path in sorted(glob.glob(os.path.join(folder, "python3.*"))):
            if re.fullmatch(r"python3\.\d+", os.path.basename(path)):
                yield path


def version_of(path: str) -> Version | None:
    """Return the version of a CPython, None for anything else; each file is started once per process."""
    try:
        info = os.stat(path)
    except OSError:
        return None
    key = (path, info.st_ino, info.st_mtime_ns)
    if key not in _known:
        _known[key] = _start(path)
    return _known[key]


def _start(path: str) -> Version | None:
    try:
        done = subprocess.run(
            [path, "-I", "-S", "-c", _PROBE], capture_output=True, text=True, timeout=60, check=False, errors="replace",
            env=build_variables(os.environ),
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.fullmatch(r"(\d+)\.(\d+)\.(\d+) cpython", done.stdout.strip())
    return (int(match[1]), int(match[2]), int(match[3])) if match and done.returncode == 0 else None
