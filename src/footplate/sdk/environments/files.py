"""Environments on disk: directories of `save_to_directory`, wheels, exports of conda."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import subprocess
from pathlib import Path
from typing import Any, Dict, Mapping, Optional, cast

from footplate.disk import atomic_write
from footplate.sdk.environments.conda_dependencies import DEFAULT_FILE, CondaDependencies
from footplate.sdk.environments.definition import EnvironmentFields as Environment
from footplate.sdk.environments.definition import definition, fill
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.values import yaml

DEFINITION_FILE = "azureml_environment.json"
DOCKERFILE = "BaseDockerfile"
_WHEEL = re.compile(r"[A-Za-z0-9_.]+-[^-]+(-\d[^-]*)?(-[^-]+){3}\.whl")
_CONDA_SECONDS = 300
_log = logging.getLogger(__name__)


# ── Folders ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def save_to_directory(environment: Environment, path: str, overwrite: bool) -> None:
    """Write the definition as JSON, the packages as a conda file and the Dockerfile, if there is one."""
    if os.path.exists(path) and not overwrite:
        raise UserErrorException(f"{path!r} exists", hint="choose another folder, or give overwrite=True")
    os.makedirs(path, exist_ok=True)
    data = definition(environment)
    dockerfile = data["docker"].pop("baseDockerfile")
    packages = data["python"].pop("condaDependencies")
    _write(path, DEFINITION_FILE, json.dumps(data, indent=4, sort_keys=True) + "\n")
    _write(path, DEFAULT_FILE, yaml.dumps(packages))
    _write(path, DOCKERFILE, dockerfile)


def _write(folder: str, name: str, text: Optional[str]) -> None:
    target = os.path.join(folder, name)
    if text is not None:
        write_text(target, text)
    elif os.path.exists(target):  # of an environment that was saved here before
        os.unlink(target)


def write_text(path: str, text: str) -> None:
    """Write a small text file, complete or not at all."""
    atomic_write(path, text.encode("utf-8"), durable=True, mode=0o644)


def load_from_directory(environment: Environment, path: str) -> None:
    """Fill `environment` from a directory."""
    data = _read_definition(path)
    environment.name = str(data.get("name") or environment.name)
    fill(environment, data, os.path.join(path, DEFINITION_FILE))
    packages, dockerfile = os.path.join(path, DEFAULT_FILE), os.path.join(path, DOCKERFILE)
    if os.path.exists(packages):
        environment.python.conda_dependencies = CondaDependencies(packages)
    if os.path.exists(dockerfile):
        environment.docker.base_dockerfile = Path(dockerfile)


def _read_definition(path: str) -> Mapping[str, Any]:
    file = os.path.join(path, DEFINITION_FILE)
    try:
        with open(os.fspath(file), encoding="utf-8-sig") as opened:
            data: Any = json.load(opened)
    except OSError as error:
        raise UserErrorException(
            f"{file!r} cannot be read: {error.strerror}", error, hint="give a folder made by save_to_directory"
        ) from error
    except ValueError as error:
        raise UserErrorException(f"{file!r} is not JSON: {error}", error, hint="save the environment again") from error
    if not isinstance(data, dict):
        raise UserErrorException(f"{file!r} does not contain an environment", hint="save the environment again")
    return cast("Dict[str, Any]", data)


# ── Wheels ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def keep_wheel(workspace: Workspace, file_path: str, exist_ok: bool) -> str:
    """Store the wheel in the home folder, by content, and return an address that pip and uv install from.

    Another wheel of the same name gets another address, so no environment changes unnoticed.
    """
    path = os.fspath(file_path)
    name = os.path.basename(file_path)
    if not _WHEEL.fullmatch(name):
        raise UserErrorException(f"{name!r} is not the name of a wheel", hint="build one with: pip wheel .")
    if not workspace.session.is_local:
        raise UserErrorException(
            "a server on another machine does not store wheels",
            hint="put the wheel where its nodes can reach it, and add its address as a pip package",
        )
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        hint = f"give the path of a .whl file; relative paths start at {os.getcwd()}"
        raise UserErrorException(f"wheel {path!r} cannot be read: {error.strerror}", error, hint=hint) from error
    shelf = Path(workspace.session.info.home) / "wheels" / workspace.id
    is_stored = any(shelf.glob(f"*/{name}"))
    if is_stored and not exist_ok:
        raise UserErrorException(
            f"the workspace has a wheel {name!r} already", hint="give it a new version, or pass exist_ok=True"
        )
    target = shelf / hashlib.sha256(content).hexdigest() / name
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(target, content, durable=True, mode=0o444)
    return target.as_uri()


# ── Conda's own environments ──────────────────────────────────────────────────────────────────────────────────────────


def export_conda_environment(name: str) -> Optional[CondaDependencies]:
    """Return the result of `conda env export`; None on failure, with the reason logged."""
    command = [os.environ.get("CONDA_EXE", "conda"), "env", "export", "--no-builds", "--name", name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_CONDA_SECONDS, check=False)
        if done.returncode != 0:
            reason = done.stderr.strip() or f"it ended with {done.returncode}"
            _log.error("conda could not export the environment %r: %s", name, reason)
            return None
        return CondaDependencies(_underlying_structure=yaml.loads(done.stdout, f"the export of {name!r}"))
    except (OSError, subprocess.TimeoutExpired, UserErrorException) as error:
        _log.error("the conda environment %r could not be exported: %s", name, error)
        return None
