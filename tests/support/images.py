"""A container engine for tests with its own storage, and an image with Python that is in no registry."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from footplate import environ
from footplate.environments.uv import find_uv

NAME = "localhost/footplate-test-python:1"
ENGINE = "docker" if os.environ.get(environ.TEST_ENGINE) == "docker" else "podman"
"""The engine to use. Use docker only with a spare daemon: all its containers and images are removed at the end."""

_OF_THE_C_LIBRARY = ("libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1", "libm.so.6")
"""Empty library files that every image has and wheels expect; their content is in the C library by now."""

PROGRAMS = ("sh", "cat", "env", "ls", "mkdir", "mv", "sleep")
_LEFT_OUT = {"site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "turtledemo", "__pycache__"}


def why_not() -> str | None:
    """Return why container tests cannot run here, or None if they can."""
    if shutil.which(ENGINE) is None:
        return f"{ENGINE} is not installed (scripts/system_packages.sh installs podman on Debian)"
    if ENGINE == "podman" and os.geteuid() != 0:
        return "podman is tested as root: without it, whether it works depends on how the machine is set up"
    return None


def configure(folder: Path) -> dict[str, str]:
    """Return the variables that make podman store everything below `folder` and run with few privileges.

    With docker, which stores everything where its daemon does, return variables that make podman seem broken.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if ENGINE == "docker":
        refusing = folder / "podman"
        refusing.write_text("#!/bin/sh\nexit 125\n", encoding="utf-8")
        refusing.chmod(0o755)
        return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    storage, engine = folder / "storage.conf", folder / "containers.conf"
    storage.write_text(
        f'[storage]\ndriver = "overlay"\ngraphroot = "{folder}/images"\nrunroot = "{folder}/state"\n', encoding="utf-8"
    )
    # runc, because crun rejects hybrid control groups; modest limits, because a CI container may not raise its own.
    runtime = 'runtime = "runc"\n' if shutil.which("runc") else ""
    engine.write_text(
        '[containers]\ndefault_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]\n'
        f'[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n{runtime}tmp_dir = "{folder}/tmp"\n',
        encoding="utf-8",
    )
    return {"CONTAINERS_CONF": str(engine), "CONTAINERS_STORAGE_CONF": str(storage)}


def make_image(folder: Path, variables: dict[str, str], name: str = NAME) -> str:
    """Create an image with this machine's Python, its standard library and a shell: about 60 MB, in a second or two."""
    archive = folder / "python.tar"
    with tarfile.open(archive, "w") as tar:
        for source, target in _files():
            tar.add(source, target, recursive=False)
    changes = ["--change", "ENV PATH=/usr/local/bin:/bin", "--change", "ENV FROM_IMAGE=yes"]
    argv = [ENGINE, "import", *changes, str(archive), name]
    subprocess.run(argv, env={**os.environ, **variables}, check=True, capture_output=True, timeout=120)
    archive.unlink()
    return name


def containers(variables: dict[str, str]) -> list[str]:
    """Return all containers, running or not, after a short wait for the engine's own cleanup."""
    found = list[str]()
    for _ in range(50):
        found = _engine(variables, "ps", "--all", "--format", "{{.ID}} {{.Status}} {{.Command}}").splitlines()
        if not found:
            break
        time.sleep(0.1)
    return found


def clear(variables: dict[str, str]) -> None:
    """Remove everything, so that the folder can be deleted."""
    for what in (("rm", "--force"), ("rmi", "--force")):
        asked = ("ps" if what[0] == "rm" else "images", "--all", "--quiet")
        if found := dict.fromkeys(_engine(variables, *asked).split()):
            _engine(variables, *what, *found)


def _engine(variables: dict[str, str], *arguments: str) -> str:
    argv, environment = [ENGINE, *arguments], {**os.environ, **variables}
    return subprocess.run(argv, env=environment, capture_output=True, text=True, check=False, timeout=120).stdout


def _files() -> Iterator[tuple[str, str]]:
    """Yield pairs of the path here and the path in the image."""
    python = os.path.realpath(sys.executable)
    library, version = sysconfig.get_path("stdlib"), f"python{sys.version_info.major}.{sys.version_info.minor}"
    programs = [found for name in PROGRAMS if (found := shutil.which(name))]
    yield python, "usr/local/bin/python3"
    yield python, "usr/local/bin/python"
    for program in programs:
        yield os.path.realpath(program), f"bin/{os.path.basename(program)}"
    modules = list[str]()
    for where, folders, names in os.walk(library):
        folders[:] = [name for name in folders if name not in _LEFT_OUT and not name.startswith("config-")]
        for name in names:
            path = os.path.join(where, name)
            modules += [path] if name.endswith(".so") else []
            yield path, f"usr/local/lib/{version}{path[len(library) :]}"
    for path in _libraries([python, find_uv(), *programs, *modules]):
        yield os.path.realpath(path), path.lstrip("/")
    for name in ("tmp", "proc", "sys", "dev"):
        yield "/tmp", name  # as empty folders, with their mode


def _libraries(programs: Iterable[str]) -> set[str]:
    """Return the shared libraries that the programs need, by the paths where they are searched."""
    done = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False)
    found = set[str]()
    for line in done.stdout.splitlines():
        words = line.split()
        paths = [word for word in words if word.startswith("/") and not word.endswith(":")]
        found.update(path for path in paths if os.path.exists(path))
    beside = [os.path.dirname(path) for path in found if os.path.basename(path) == "libc.so.6"]
    rest = {os.path.join(folder, name) for folder in beside for name in _OF_THE_C_LIBRARY}
    return found | {path for path in rest if os.path.exists(path)}
