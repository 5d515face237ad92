"""Stored resolutions: the same content keeps its lock until somebody requests a fresh one.

An index changes by the hour. If locks changed with it, a run that requests nothing new would wait for a new
environment. A lock is therefore stored under a key of its inputs: the requirements, the requested Python, the platform
or the kind of node, the settings of pip and uv with the content of their files, and the wheels in local directories
that they name.
`footplate env lock --refresh` resolves again. Requirements that name local files are resolved every time, because those
files can change while the key stays the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from footplate.disk import atomic_write
from footplate.domain.codec import from_json, to_json
from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments import adaptations, built_environments, conda, curated, machine, recipes, torch_builds
from footplate.environments.base import ResolverSettings, Say, without_prefix
from footplate.environments.requirements import clean, conda_lines, names_local_files, pip_lines
from footplate.environments.uv import RESOLVING
from footplate.pip_settings import pip_settings

_FORMAT = 4
_FIND_LINKS = re.compile(r"(?:-f|--find-links)[\s=]+(\S+)")
_OF_THE_MOMENT = ("UV_CACHE_DIR", "UV_NO_PROGRESS", "UV_CONCURRENT_BUILDS", "UV_CONCURRENT_DOWNLOADS", "UV_LINK_MODE")


def resolve_once(
    spec: EnvironmentSpec, settings: ResolverSettings, say: Say, resolve: Callable[[], Lock], refresh: bool
) -> Lock:
    """Return the stored lock, or store the result of `resolve`; concurrent callers resolve once."""
    if _may_change_unseen(spec):
        return resolve()
    path = settings.root / ".locks" / f"{key(spec, settings, os.environ)}.json"
    stored = None if refresh else _read(path)
    if stored is None:
        requested_at = time.time()
        with built_environments.hold_lock(
            path.with_suffix(".lock"), say, "another process is resolving this environment"
        ):
            stored = _read(path, newer_than=requested_at if refresh else 0.0)
            if stored is None:
                return _write(path, resolve())
    lock, resolved = stored
    day = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(resolved))
    say(f"using the lock of {day}: nothing that it was made from has changed")
    return lock


def key(spec: EnvironmentSpec, settings: ResolverSettings, environ: Mapping[str, str]) -> str:
    """Hash everything that decides about a resolution. Names, versions and variables of an environment do not."""
    pip = pip_settings(environ)
    content: dict[str, Any] = {
        "format": _FORMAT,
        "builder": spec.builder,
        "python": spec.python or f"{sys.version_info.major}.{sys.version_info.minor}",
        "interpreter": spec.interpreter,
        "interpreters": settings.interpreters,
        "cpu builds": settings.cpu_builds,
        "requirements": clean(spec.requirements),
        "conda": spec.options.get("conda"),
        "platform": machine.platform_of(settings),
        "pip": {name: value.split() for name, value in pip.items() if name in RESOLVING},
        "constraints": _texts(pip.get("constraint", "") + " " + environ.get("UV_CONSTRAINT", "")),
        "uv": {n: v for n, v in environ.items() if n.startswith("UV_") and n not in _OF_THE_MOMENT},
        "uv files": _texts(" ".join(_uv_files(environ))),
        "wheels": _wheels(_wheel_folders(spec, pip, environ)),
    }
    if settings.node is not None:
        content["node"] = to_json(settings.node)
    lines = [*spec.requirements, *conda_lines(spec, "pip")]
    if "curated" in spec.options:
        entries = curated.with_nearest(str(spec.options["curated"]))
        content["curated"] = [asdict(entry) for entry in entries]
        if spec.options.get(adaptations.MPI):
            lines += [line for entry in entries for line in entry.with_mpi]
    if spec.options.get(adaptations.MPI):
        content["mpi"] = "of the machine" if machine.has_mpi(settings) else "from the index"
    if settings.cpu_builds and settings.torch_cpu_index != torch_builds.CPU_INDEX:
        content["torch's CPU builds"] = settings.torch_cpu_index
    fingerprints = recipes.fingerprints(lines)
    if fingerprints:
        content["recipes"] = fingerprints
    if spec.builder == "conda" or (spec.builder == "container" and spec.options.get("conda")):
        content["channels"] = conda.settings_key(spec, settings)
    if spec.builder == "container":
        content.update(docker=spec.options.get("docker"), image=settings.image)
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode(errors="surrogateescape")).hexdigest()


def _uv_files(environ: Mapping[str, str]) -> list[str]:
    """Return the files that uv reads its settings from when we call it: the user's and the machine's, or the one
    named."""
    if environ.get("UV_CONFIG_FILE"):
        return [environ["UV_CONFIG_FILE"]]
    configured = environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return [os.path.join(configured, "uv", "uv.toml"), "/etc/uv/uv.toml"]


def _wheel_folders(spec: EnvironmentSpec, pip: Mapping[str, str], environ: Mapping[str, str]) -> list[str]:
    """Return the folders that pip's and uv's settings and the lines name for wheels."""
    named = [match[1] for line in pip_lines(spec) if (match := _FIND_LINKS.match(line))]
    return [*pip.get("find-links", "").split(), *environ.get("UV_FIND_LINKS", "").split(","), *named]


def _wheels(places: Iterable[str]) -> list[tuple[str, int, int]]:
    """Return the wheels in local directories: a new or rebuilt wheel can change the choice of versions."""
    wheels: list[tuple[str, int, int]] = []
    for place in places:
        folder = os.path.expanduser(without_prefix(place, "file://"))
        with contextlib.suppress(OSError):
            for entry in os.scandir(folder):
                if entry.name.endswith((".whl", ".tar.gz", ".zip")):
                    info = entry.stat()
                    wheels.append((entry.path, info.st_size, info.st_mtime_ns))
    return sorted(wheels)


def _texts(paths: str) -> list[str]:
    """Return the content of constraint files: their paths stay the same when they change."""
    texts: list[str] = []
    for path in paths.split():
        with contextlib.suppress(OSError):
            texts.append(Path(without_prefix(path, "file://")).read_text(encoding="utf-8", errors="replace"))
    return texts


def _may_change_unseen(spec: EnvironmentSpec) -> bool:
    """Whether requirements or channels name local files, which can change while the key stays the same."""
    are_folders = any(re.match(r"file:|[./~]", channel) for channel in conda_lines(spec, "channels"))
    return are_folders or names_local_files(pip_lines(spec))


def _read(path: Path, newer_than: float = 0.0) -> tuple[Lock, float] | None:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        resolved = float(data["resolved"])
        return (from_json(Lock, data["lock"]), resolved) if resolved >= newer_than else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(path: Path, lock: Lock) -> Lock:
    atomic_write(path, json.dumps({"resolved": time.time(), "lock": to_json(lock)}).encode(), durable=True)
    return lock
