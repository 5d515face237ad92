"""Prepares the working directory and the interpreter of the ranks."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from footplate import environ, environments
from footplate.content.blobs import BlobFolder
from footplate.disk import sync
from footplate.domain.locks import MPI, TENSORFLOW1
from footplate.domain.orders import VISIBLE, Cause, NodeOrders
from footplate.environments.base import Interpreter
from footplate.environments.url_credentials import Logins
from footplate.errors import FootplateError
from footplate.lazy import Deferred
from footplate.node import gpus, host_info, snapshot
from footplate.node.delivery.server_link import Link
from footplate.node.node_directory import NodeFolder, bundle_folder, cache_home, see_installed_packages

if TYPE_CHECKING:
    import shutil
    import tempfile
    import zipfile

    from footplate.environments import tensorflow1_check
    from footplate.node.delivery import checkpoints
else:  # most runs need none of them
    shutil = Deferred("shutil")
    tempfile = Deferred("tempfile")
    zipfile = Deferred("zipfile")
    tensorflow1_check = Deferred("footplate.environments.tensorflow1_check")
    checkpoints = Deferred("footplate.node.delivery.checkpoints")

_TOOLS = {"conda": ("uv", "rattler", "yaml")}
"""Packages that the builder of an environment needs; by default only uv."""

BUILD_LOG = "azureml-logs/20_image_build_log"


class Failed(Exception):
    """The ranks cannot be started."""

    def __init__(self, cause: Cause) -> None:
        super().__init__(cause.message)
        self.cause = cause


def check_gpus(orders: NodeOrders) -> None:
    """Refuse a run that selects GPUs which the engine of this node has not assigned to it."""
    chosen, assigned = orders.variables.get(VISIBLE), os.environ.get(VISIBLE)
    if bundle_folder() is None or chosen is None or assigned is None:
        return
    if others := gpus.beyond(chosen, assigned, gpus.find(gpus.open_driver(), assigned)):
        words = f"the run sets {VISIBLE}={chosen}, and {', '.join(others)} is not among the GPUs of this node"
        words += f" that the cluster has assigned to it ({assigned or 'none'})"
        hint = f"leave {VISIBLE} out, and request a number (gpus = 1)"
        raise Failed(Cause("no_gpus", words, hint, orders.node))


def lay_out(orders: NodeOrders, link: Link, home: str | None, folder: NodeFolder) -> None:
    """Write the snapshot and the directories that every run has to the working directory."""
    try:
        if orders.snapshot is not None:
            snapshot.fetch(orders.snapshot, link, home, folder)
        for name in {"outputs", "logs", *orders.collect, *orders.watch}:
            os.makedirs(os.path.join(folder.wd, name), exist_ok=True)
        snapshot.note_source_files((*orders.collect, *orders.watch), folder)
    except (FootplateError, OSError) as error:
        raise _explain_failure(orders, "snapshot_failed", "the source directory could not be written", error) from None
    script = orders.program.script
    if script is not None and not os.path.isfile(os.path.join(folder.wd, script)):
        hint = "check script= and source_directory=, and that no ignore file excludes it"
        raise Failed(Cause("start_failed", f"the script {script!r} is not in the source folder", hint, orders.node))
    if script is not None and orders.lock.content.get(TENSORFLOW1):
        _check_tensorflow1(orders, os.path.join(folder.wd, script), script)


def _check_tensorflow1(orders: NodeOrders, path: str, script: str) -> None:
    with open(path, encoding="utf-8", errors="replace") as file:
        impossible_line = tensorflow1_check.first_impossible_line(file.read())
    if impossible_line is not None and orders.variables.get(environ.TENSORFLOW1) != "0":
        message = (
            f"{script}, line {impossible_line[0]}: {impossible_line[1]!r} needs a module that only TensorFlow 1 has"
        )
        hint = "TensorFlow 1 has no wheels for Python 3.8 or newer, and TensorFlow 2 takes its place: use Keras instead"
        raise Failed(Cause("start_failed", message, hint, orders.node))


def bring_back(orders: NodeOrders, link: Link, home: str | None, folder: NodeFolder) -> dict[str, str]:
    """Restore outputs and checkpoints of earlier attempts; return digests of this node's own checkpoints, by name."""
    try:
        snapshot.bring_back(orders.collect, link, home, folder)
        return checkpoints.restore(link, home, folder, orders)
    except (FootplateError, OSError) as error:
        raise _explain_failure(orders, "outputs_failed", "the earlier outputs could not be restored", error) from None


def build(orders: NodeOrders, link: Link, folder: NodeFolder, tell: Callable[[str], None]) -> Interpreter:
    """Return the interpreter of the run's environment. `tell` is called once if building it takes time."""
    name = f"{BUILD_LOG}.txt" if orders.node == 0 else f"{BUILD_LOG}_{orders.node}.txt"
    log = os.path.join(folder.logs, name)

    def say(line: str) -> None:
        first = not os.path.exists(log)
        os.makedirs(os.path.dirname(log), exist_ok=True)
        with open(log, "a", encoding="utf-8", errors="replace") as file:
            file.write(line + "\n")
        if first:  # a builder that logs has work to do
            tell(line if line.startswith(("waiting", "building")) else f"building the environment: {line}")

    try:
        # An existing interpreter needs nothing (unless MPI is brought), and must not wait for site-packages.
        if orders.lock.builder != "existing" or MPI in orders.lock.content:
            see_installed_packages()
            for module in _TOOLS.get(orders.lock.builder, ("uv",)):
                provide(module, link, cache_home(folder.home))
        builder = environments.load(orders.lock.builder)
        logins = Logins(orders.logins)
        return builder.build(orders.lock, Path(cache_home(folder.home)) / "environments", say, logins)
    except ImportError as error:
        words = f"the environment could not be built: this node's Python {sys.version.split()[0]} lacks {error.name}"
        hint = "set the option python of the compute target to Python 3.9 or newer"
        raise Failed(Cause("environment_failed", words, hint, orders.node)) from None
    except (FootplateError, OSError) as error:
        raise _explain_failure(orders, "environment_failed", "the environment could not be built", error) from None


def provide(module: str, link: Link, home: str) -> None:
    """Make a package importable that an agent on a bare node needs, fetched from the server if the node lacks it."""
    if bundle_folder() is None or importlib.util.find_spec(module) or (module == "uv" and shutil.which("uv")):
        return
    digest = link.retry(lambda: link.tool(module, sys.version_info[:2], os.uname().machine, _libc()))
    place = os.path.join(home, "tools", digest)
    if not os.path.isdir(place):
        blobs = BlobFolder(os.path.join(home, "blobs"))
        link.retry(lambda: blobs.put_stream(digest, link.fetch_archive(digest)))
        _unpack(blobs.checked_path(digest), place)
    host_info.see_tool(place)


def _libc() -> tuple[int, int]:
    """Return the version of the GNU C library; (0, 0) if the machine has another one."""
    try:
        _, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
        major, minor = version.split(".")[:2]
        return int(major), int(minor)
    except ValueError:
        return 0, 0


def _unpack(archive: str, place: str) -> None:
    """Unpack beside the place and rename: other agents may do the same."""
    os.makedirs(os.path.dirname(place), exist_ok=True)
    new = tempfile.mkdtemp(prefix=".new-", dir=os.path.dirname(place))
    try:
        with zipfile.ZipFile(archive) as file:
            paths = {file.extract(entry, new): entry.external_attr >> 16 for entry in file.infolist()}
        for path, mode in paths.items():
            os.chmod(path, mode)
        sync(list(paths))
        os.rename(new, place)
    except OSError:
        if not os.path.isdir(place):
            raise
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _explain_failure(orders: NodeOrders, code: str, what: str, error: Exception) -> Failed:
    message, hint = (error.message, error.hint) if isinstance(error, FootplateError) else (str(error), None)
    return Failed(Cause(code, f"{what}: {message}", hint or "see the system_logs of the run", orders.node))
