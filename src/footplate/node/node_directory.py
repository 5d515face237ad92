"""The folder of one agent, `work/<run>/node_<n>/`, and the folder that jobs import Footplate from.

Each attempt of a run has its own: from the second on they are called `node_<n>_attempt_<k>`.

    agent.lock    flock'ed as long as the agent lives; holds {"pid", "identity", "attempt"} of the one that holds it
    agent.log     stdout and stderr of the agent
    agent.exit    exit code, written as the last act of an agent that did not get to the end of its work
    state.json    how far the agent has come, so that the next one can go on
    wd/           the working folder of the ranks; virtual nodes of one run use that of node 0, which keeps it for them
    logs/         what the ranks print, and the log of the environment's build; named as in the run
    journals/     metrics, `<run id>/<writer>.slots` and `.text`
    exits/        what the bootstrap of each rank says about its end
    bases.json    how long each log was, at the server, when this attempt began
    data/         where inputs appear and outputs are written, by name

An agent that has finished removes the whole folder: that it is gone *is* its exit code 0. With FOOTPLATE_KEEP_WORK=1 it
stays, and holds `agent.exit`.
"""

from __future__ import annotations

import errno
import fcntl
import importlib.util
import json
import os
import shutil
import site
import stat
import sys
from collections.abc import Callable, Iterator
from typing import Any, cast

import footplate
from footplate.disk import atomic_symlink, atomic_write
from footplate.errors import OutOfSpace
from footplate.node import process_tree

PACKAGE = os.path.dirname(os.path.abspath(footplate.__file__))
LOCK_NUMBER = 3
"""The number under which an agent that was forked from the nursery finds its lock open."""

_ESCAPE = "surrogateescape"
_packages_seen = False


class NodeFolder:
    """Paths, and the few small files that are read and written whole."""

    def __init__(self, home: str, run: str, node: int, attempt: int = 1, shares: bool = False) -> None:
        """`shares`: the nodes of the run are on one machine. Then, as on Azure, they share one working folder."""
        self.home = home
        self._run, self._node, self.attempt, self._shares = run, node, attempt, shares
        work, again = os.path.join(home, "work", run), f"_attempt_{attempt}" if attempt > 1 else ""
        self.path, first = os.path.join(work, f"node_{node}{again}"), os.path.join(work, f"node_0{again}")
        self.keeps_wd = node == 0 or not shares
        self.shared = os.path.join(first, "tmp") if shares else None
        self.wd = os.path.join(self.path if self.keeps_wd else first, "wd")
        self.logs = os.path.join(self.path, "logs")
        self.journals = os.path.join(self.path, "journals")
        self.exits = os.path.join(self.path, "exits")
        self.tmp = os.path.join(self.path, "tmp")
        self.data = os.path.join(self.path, "data")
        self.agent_log = os.path.join(self.path, "agent.log")
        self._lock = os.path.join(self.path, "agent.lock")
        self._exit = os.path.join(self.path, "agent.exit")
        self._state = os.path.join(self.path, "state.json")
        self._bases = os.path.join(self.path, "bases.json")

    def earlier(self) -> list[NodeFolder]:
        """What is left of earlier attempts of this node: their agents could not finish."""
        folders = [NodeFolder(self.home, self._run, self._node, a, self._shares) for a in range(1, self.attempt)]
        return [folder for folder in folders if folder.exists()]

    def marker(self) -> dict[str, str]:
        """By which processes of this node are known."""
        return process_tree.marker(self._run, self._node, self.exits)

    def make(self) -> None:
        for folder in (self.path, self.logs, self.journals, self.exits, self.tmp):
            os.makedirs(folder, exist_ok=True)
        if self.keeps_wd:
            os.makedirs(self.wd, exist_ok=True)

    def exists(self) -> bool:
        return os.path.isdir(self.path)

    # ── The lock ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def take_lock(self) -> int | None:
        """The lock as an open file, which may be handed to another process; None when a living agent has it."""
        os.makedirs(self.path, exist_ok=True)
        held = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(held)
            return None
        return held

    def read_holder(self) -> dict[str, Any] | None:
        """Who wrote itself into the lock last; it may be dead."""
        return _read_json(self._lock)

    @staticmethod
    def write_holder(held: int, pid: int, identity: str, attempt: int) -> None:
        line = json.dumps({"pid": pid, "identity": identity, "attempt": attempt}).encode()
        # Padded and written at once: a reader sees the old line or the new one, never a mixture.
        os.pwrite(held, line.ljust(200) + b"\n", 0)

    # ── Small files ───────────────────────────────────────────────────────────────────────────────────────────────────

    def read_exit(self) -> int | None:
        try:
            with open(self._exit) as file:
                return int(file.read())
        except (OSError, ValueError):
            return None

    def write_exit(self, code: int) -> None:
        _write(self._exit, str(code))

    def forget_exit(self) -> None:
        _remove(self._exit)

    def read_state(self) -> dict[str, Any]:
        return _read_json(self._state) or {}

    def write_state(self, state: dict[str, Any]) -> None:
        """Not fsynced: it matters after the death of the agent; the death of the machine takes the ranks along."""
        _write(self._state, json.dumps(state))

    def read_bases(self) -> dict[str, int] | None:
        return _read_json(self._bases)

    def write_bases(self, bases: dict[str, int]) -> None:
        """As for the state; written before the first byte of a log is shipped."""
        _write(self._bases, json.dumps(bases))

    def read_rank_exit(self, rank: int) -> dict[str, Any]:
        """What the bootstrap says: `code`, `exception`, `exception_message`, `traceback`; empty when it could not."""
        return _read_json(self._rank_exit(rank)) or {}

    def rank_exit_time(self, rank: int) -> float | None:
        try:
            return os.stat(self._rank_exit(rank)).st_mtime
        except OSError:
            return None

    def read_rank_end(self, rank: int) -> tuple[int | None, float | None]:
        """Exit code and time as the shell around a rank of MPI wrote them down; minus nothing, 128 and a signal."""
        path = os.path.join(self.exits, f"rank_{rank}.end")
        try:
            with open(path) as file:
                return int(file.read()), os.stat(path).st_mtime
        except (OSError, ValueError):
            return None, None

    def _rank_exit(self, rank: int) -> str:
        return os.path.join(self.exits, f"rank_{rank}.json")

    def remove(self) -> None:
        """Everything, also what a job made unreadable; the run's own folder goes with its last node."""
        shutil.rmtree(self.path, onerror=_remove_by_force)
        try:
            os.rmdir(os.path.dirname(self.path))
        except OSError:
            pass


def _remove_by_force(_function: Any, path: str, _error: Any) -> None:
    """A job may have taken away its own right to change a folder; as its owner we give it back and try once more."""
    try:
        os.chmod(os.path.dirname(path), 0o700)
        if os.path.isdir(path) and not os.path.islink(path):
            os.chmod(path, 0o700)
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
    except OSError:
        pass  # what still cannot be removed is left lying, and harms nobody


def is_full(error: Exception) -> bool:
    """Whether it says that there is no room on a disk."""
    return isinstance(error, OutOfSpace) or (isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT))


def _read_json(path: str) -> dict[str, Any] | None:
    try:
        with open(path, encoding="utf-8", errors=_ESCAPE) as file:
            value = json.load(file)
    except (OSError, ValueError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _write(path: str, text: str) -> None:
    atomic_write(path, text.encode("utf-8", _ESCAPE), durable=False)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def regular_files(
    root: str, inside: str, refuse: Callable[[str, str], None] | None = None
) -> Iterator[tuple[str, str]]:
    """(path below `root`, real path) of every file there, in order.

    Links are followed as long as they stay `inside`; what leads out, round in a circle, or is no file at all is told to
    `refuse` with the reason, in words.
    """
    fence = os.path.realpath(inside)
    start = os.path.realpath(root)
    if not _is_within(start, fence):
        if refuse is not None:
            refuse("", "is a link that leaves the working folder")
        return
    waiting: list[tuple[str, str, tuple[str, ...]]] = [("", start, (start,))]
    while waiting:
        below, folder, above = waiting.pop()
        try:
            names = sorted(os.listdir(folder), reverse=True)
        except OSError:
            continue
        for name in names:
            path, shown = os.path.join(folder, name), below + name
            kind, real = _resolve(path, fence)
            if kind == "file":
                yield shown, real
            elif kind == "folder" and real not in above:
                waiting.append((shown + "/", real, (*above, real)))
            elif refuse is not None:
                refuse(shown, "leads in a circle" if kind == "folder" else kind)


def _is_within(path: str, fence: str) -> bool:
    return path == fence or path.startswith(fence + os.sep)


def _resolve(path: str, fence: str) -> tuple[str, str]:
    """What lies there, "file", "folder" or why it is neither, and where it really is."""
    try:
        info = os.lstat(path)
        if stat.S_ISLNK(info.st_mode):
            path = os.path.realpath(path)
            if not _is_within(path, fence):
                return "is a link that leaves the working folder", path
            info = os.stat(path)
    except OSError as error:
        return f"cannot be read: {error.strerror}", path
    if stat.S_ISREG(info.st_mode):
        return "file", path
    return ("folder" if stat.S_ISDIR(info.st_mode) else "is neither a file nor a folder"), path


# ── What jobs import Footplate from ───────────────────────────────────────────────────────────────────────────────────


def runtime_folder(home: str, version: str) -> str:
    """`runtime/<version>/` with `footplate` and, when it is installed here, `azureml`, as links and nothing else."""
    folder = os.path.join(home, "runtime", version)
    ours, azure = os.path.join(folder, "footplate"), os.path.join(folder, "azureml")
    if _target(ours) == PACKAGE and os.path.isdir(os.path.join(azure, "core")):
        return folder
    os.makedirs(folder, exist_ok=True)
    _point(ours, PACKAGE)
    found = _find_azureml()
    if found:
        _point(azure, found)
    return folder


def see_installed_packages() -> None:
    """Put site-packages on the path: a process that was started with -S has only the standard library there."""
    global _packages_seen
    if sys.flags.no_site and not _packages_seen:
        _packages_seen = True
        site.main()


def _find_azureml() -> str | None:
    """Where the `azureml` names of this installation lie: a namespace package, so it is known by its `core`."""
    see_installed_packages()
    try:
        spec = importlib.util.find_spec("azureml")
    except (ImportError, ValueError):
        return None
    places = list(spec.submodule_search_locations or ()) if spec else []
    return next((place for place in places if os.path.isfile(os.path.join(place, "core", "__init__.py"))), None)


def _target(link: str) -> str | None:
    try:
        return os.readlink(link)
    except OSError:
        return None


def _point(link: str, target: str) -> None:
    """Make or change a link so that others, who may do the same at the same time, always find one."""
    if _target(link) != target:
        atomic_symlink(target, link)
