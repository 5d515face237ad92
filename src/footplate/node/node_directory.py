"""The directory of one agent, `work/<run>/node_<n>/`, and the directory from which jobs import Footplate.

Each attempt of a run has its own; from the second on they are called `node_<n>_attempt_<k>`.

    agent.lock    flock'ed as long as the agent lives; contains {"pid", "identity", "attempt"} of the holder
    agent.log     stdout and stderr of the agent
    agent.exit    exit code, written last by an agent that did not finish its work
    state.json    progress of the agent, from which the next one continues
    wd/           working directory of the ranks; virtual nodes of one run use that of node 0
    logs/         output of the ranks, and the log of the environment's build; named as in the run
    journals/     metrics, `<run id>/<writer>.slots` and `.text`
    exits/        reports of the bootstrap about the end of each rank
    bases.json    length of each log, at the server, when this attempt began
    data/         inputs and outputs by name

An agent that has finished removes the whole directory: its absence *is* the exit code 0. With FOOTPLATE_KEEP_WORK=1 it
stays, and contains `agent.exit`; so does the directory of a node whose files found no disk space in time.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import importlib.util
import json
import os
import site
import stat
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

import footplate
from footplate import environ
from footplate.disk import FileLock, atomic_symlink, atomic_write, space
from footplate.errors import OutOfSpace
from footplate.lazy import Deferred
from footplate.node import process_tree

if TYPE_CHECKING:
    import shutil
else:
    shutil = Deferred("shutil")  # a directory is removed after the ranks have ended

PACKAGE = os.path.dirname(os.path.abspath(footplate.__file__))
LOCK_NUMBER = 3
"""The file descriptor at which an agent that was forked from the nursery finds its lock."""

_ESCAPE = "surrogateescape"
_VANISHING_SECONDS = 3.0
_packages_seen = False


class NodeFolder:
    """Paths of a node, and the few small files that are read and written whole."""

    def __init__(self, home: str, run: str, node: int, attempt: int = 1, shares: bool = False) -> None:
        """`shares`: the nodes of the run are on one machine. Then, as on Azure, they share one working directory."""
        self.home = home
        self._run, self._node, self.attempt, self._shares = run, node, attempt, shares
        work = os.path.join(home, "work", run)
        again = f"_attempt_{attempt}" if attempt > 1 else ""
        self.path = os.path.join(work, f"node_{node}{again}")
        first = os.path.join(work, f"node_0{again}")
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
        """Return the directories of earlier attempts of this node whose agents could not finish."""
        folders = [NodeFolder(self.home, self._run, self._node, a, self._shares) for a in range(1, self.attempt)]
        return [folder for folder in folders if folder.exists()]

    def marker(self) -> dict[str, str]:
        """Return the variables that identify processes of this node."""
        return process_tree.marker(self._run, self._node, self.exits)

    def make(self) -> None:
        for folder in (self.path, self.logs, self.journals, self.exits, self.tmp):
            os.makedirs(folder, exist_ok=True)
        if self.keeps_wd:
            os.makedirs(self.wd, exist_ok=True)

    def exists(self) -> bool:
        """Whether the directory is there. One that cannot be checked is: only positive evidence ends a run."""
        try:
            os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            pass
        return True

    def vanishes(self) -> bool:
        """Whether the directory is gone, or is within a moment: deleting it removes its contents first."""
        until = time.monotonic() + _VANISHING_SECONDS
        while self.exists():
            if time.monotonic() > until:
                return False
            time.sleep(0.02)
        return True

    # ── The lock ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def take_lock(self) -> int | None:
        """Return the lock as an open file, which may be passed to another process; None if a living agent holds it."""
        lock = self._open_lock()
        with contextlib.suppress(OSError):
            if lock.try_take():
                return lock.file
        lock.close()
        return None

    def _open_lock(self) -> FileLock:
        """Open the lock, also while the agent of an earlier attempt is removing its directory."""
        for tries_left in reversed(range(1000)):
            try:
                os.makedirs(self.path, exist_ok=True)
                return FileLock(self._lock)
            except (FileNotFoundError, FileExistsError):
                if not tries_left:
                    raise
            except OSError:
                self._remove_if_empty()  # a full disk: nobody will come back for it
                raise
        raise AssertionError("the last try returns or raises")

    def _remove_if_empty(self) -> None:
        with contextlib.suppress(OSError):
            os.rmdir(self.path)
            os.rmdir(os.path.dirname(self.path))

    def read_holder(self) -> dict[str, Any] | None:
        """Return the last process that wrote itself into the lock; it may be dead."""
        return _read_json(self._lock)

    @staticmethod
    def write_holder(lock: int, pid: int, identity: str, attempt: int) -> None:
        line = json.dumps({"pid": pid, "identity": identity, "attempt": attempt}).encode()
        # Padded and written at once: a reader sees the old line or the new one, never a mixture.
        os.pwrite(lock, line.ljust(200) + b"\n", 0)

    # ── Small files ───────────────────────────────────────────────────────────────────────────────────────────────────

    def read_exit(self) -> int | None:
        """Return the exit code; None if the agent left none. Raise OSError if that cannot be known now."""
        try:
            with open(self._exit) as file:
                return int(file.read())
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None

    def write_exit(self, code: int) -> None:
        _write(self._exit, str(code))

    def redirect_output(self) -> None:
        """Send the output of this process to the agent's log."""
        with contextlib.suppress(OSError), open(self.agent_log, "ab") as log:  # a full disk: it goes where it went
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)

    def keep(self) -> None:
        """Keep the directory of a node that could not deliver: engines remove one without an exit code some day."""
        with space(self.path):
            self.write_exit(0)

    def forget_exit(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._exit)

    def read_state(self) -> dict[str, Any]:
        return _read_json(self._state) or {}

    def write_state(self, state: dict[str, Any]) -> None:
        """Write without fsync: the state matters after the death of the agent, not of the machine and its ranks."""
        _write(self._state, json.dumps(state))

    def read_bases(self) -> dict[str, int] | None:
        return _read_json(self._bases)

    def write_bases(self, bases: dict[str, int]) -> None:
        """Write as the state is written, before the first byte of a log is shipped."""
        _write(self._bases, json.dumps(bases))

    def read_rank_exit(self, rank: int) -> dict[str, Any]:
        """Return the bootstrap's report: `code`, `exception`, `exception_message`, `traceback`; empty without one."""
        has_succeeded = os.path.exists(os.path.join(self.exits, f"rank_{rank}.succeeded"))
        return _read_json(self._rank_exit(rank)) or ({"code": 0} if has_succeeded else {})

    def rank_exit_time(self, rank: int) -> float | None:
        try:
            return os.stat(self._rank_exit(rank)).st_mtime
        except OSError:
            return None

    def read_rank_end(self, rank: int) -> tuple[int | None, float | None]:
        """Return exit code and time that the shell around a rank of MPI recorded; a signal is 128 plus its number."""
        path = os.path.join(self.exits, f"rank_{rank}.end")
        try:
            with open(path) as file:
                return int(file.read()), os.stat(path).st_mtime
        except (OSError, ValueError):
            return None, None

    def _rank_exit(self, rank: int) -> str:
        return os.path.join(self.exits, f"rank_{rank}.json")

    def remove(self) -> None:
        """Remove everything, also files that a job made unreadable; the run's directory goes with its last node.

        The lock goes last: meanwhile it keeps out the agent of the next attempt, which would ship what is left here.
        """
        with contextlib.suppress(OSError):
            os.chmod(self.path, 0o700)
            for name in os.listdir(self.path):
                path = os.path.join(self.path, name)
                if path != self._lock:
                    _remove_tree(path)
        with contextlib.suppress(OSError):
            os.unlink(self._lock)
        self._remove_if_empty()


def _remove_tree(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        if sys.version_info >= (3, 12):  # where `onerror` is deprecated
            shutil.rmtree(path, onexc=_remove_by_force)
        else:
            shutil.rmtree(path, onerror=_remove_by_force)
    else:
        _remove_by_force(None, path, None)


def _remove_by_force(_function: Any, path: str, _error: Any) -> None:
    """Restore the owner's rights, which a job may have removed, and try once more."""
    try:
        os.chmod(os.path.dirname(path), 0o700)
        if os.path.isdir(path) and not os.path.islink(path):
            os.chmod(path, 0o700)
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
    except OSError:
        pass  # whatever still cannot be removed stays, without harm


def is_full(error: Exception) -> bool:
    """Whether an error means that a disk is full."""
    return isinstance(error, OutOfSpace) or (isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT))


def describe_full_disk(error: OSError, path: str) -> Exception:
    """Return the error to raise for one of a node's directory: OutOfSpace if its disk is full."""
    words = f"the disk of {path} is full"
    return OutOfSpace(words, "free some space and submit the run again") if is_full(error) else error


def _read_json(path: str) -> dict[str, Any] | None:
    try:
        with open(path, encoding="utf-8", errors=_ESCAPE) as file:
            value = json.load(file)
    except (OSError, ValueError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _write(path: str, text: str) -> None:
    atomic_write(path, text.encode("utf-8", _ESCAPE), durable=False)


def regular_files(
    root: str, inside: str, refuse: Callable[[str, str], None] | None = None
) -> Iterator[tuple[str, str]]:
    """Yield (path below `root`, real path) of every file there, in order.

    Symlinks are followed as long as they stay `inside`. A path that leads out, forms a loop, or is not a file is passed
    to `refuse` with the reason.
    """
    fence = _real_fence(inside)
    start = _real_root(root, inside, fence)
    if not _is_within(start, fence):
        if refuse is not None:
            refuse("", "is a link that leaves the working directory")
        return
    waiting: list[tuple[str, str, tuple[str, ...]]] = [("", start, (start,))]
    while waiting:
        below, folder, above = waiting.pop()
        try:
            names = sorted(os.listdir(folder), reverse=True)
        except OSError:
            continue
        for name in names:
            path = os.path.join(folder, name)
            display_name = below + name
            kind, real = _resolve(path, fence)
            if kind == "file":
                yield display_name, real
            elif kind == "folder" and real not in above:
                waiting.append((display_name + "/", real, (*above, real)))
            elif refuse is not None:
                refuse(display_name, "is part of a loop of links" if kind == "folder" else kind)


@functools.lru_cache(maxsize=8)
def _real_fence(path: str) -> str:
    """Return the real path of a node's own directory, which a job cannot replace."""
    return os.path.realpath(path)


def _real_root(root: str, inside: str, fence: str) -> str:
    """Return the real path of `root`. Every look at the outputs asks, and almost always there is no link."""
    at = inside
    below = root[len(inside) :].strip(os.sep) if _is_within(root, inside) else None
    if below is None:
        return os.path.realpath(root)
    for part in below.split(os.sep) if below else ():
        at = os.path.join(at, part)
        if os.path.islink(at):
            return os.path.realpath(root)
    return os.path.join(fence, below) if below else fence


def _is_within(path: str, fence: str) -> bool:
    return path == fence or path.startswith(fence + os.sep)


def _resolve(path: str, fence: str) -> tuple[str, str]:
    """Return "file", "folder" or the reason why it is neither, and the real path."""
    try:
        info = os.lstat(path)
        if stat.S_ISLNK(info.st_mode):
            path = os.path.realpath(path)
            if not _is_within(path, fence):
                return "is a link that leaves the working directory", path
            info = os.stat(path)
    except OSError as error:
        return f"cannot be read: {error.strerror}", path
    if stat.S_ISREG(info.st_mode):
        return "file", path
    return ("folder" if stat.S_ISDIR(info.st_mode) else "is neither a file nor a directory"), path


# ── What jobs import Footplate from ───────────────────────────────────────────────────────────────────────────────────


def bundle_folder() -> str | None:
    """Return the directory of the agent bundle that this agent was started from; None if it was installed here."""
    return os.path.dirname(PACKAGE) if environ.BUNDLE in os.environ else None


def cache_home(home: str) -> str:
    """Return the directory for environments, snapshots and tools: one that the nodes share, or the node's own."""
    return os.environ.get(environ.SHARED) or home


def runtime_folder(home: str, version: str) -> str:
    """Return `runtime/<version>/`, with symlinks to `footplate` and, if it is installed here, `azureml`, and nothing
    else. An agent from a bundle returns the bundle, which is such a directory.
    """
    bundle = bundle_folder()
    if bundle is not None:
        return bundle
    folder = os.path.join(home, "runtime", version)
    ours, azure = os.path.join(folder, "footplate"), os.path.join(folder, "azureml")
    if _target(ours) == PACKAGE and os.path.isdir(os.path.join(azure, "core")):
        return folder
    os.makedirs(folder, exist_ok=True)
    _point(ours, PACKAGE)
    azureml = _find_azureml()
    if azureml:
        _point(azure, azureml)
    return folder


def see_installed_packages() -> None:
    """Put site-packages on the path: a process that was started with -S has only the standard library there."""
    global _packages_seen
    if sys.flags.no_site and not _packages_seen:
        _packages_seen = True
        sys.path += _bundled_packages()
        site.main()


def _bundled_packages() -> list[str]:
    """Return the directories of the bundle with packages for agents that this Python can import."""
    root = os.path.join(bundle_folder() or "", "agent_packages")
    names = os.listdir(root) if bundle_folder() and os.path.isdir(root) else []
    oldest = {name: tuple(int(part) for part in name.split(".")) for name in names}
    return [os.path.join(root, name) for name in sorted(names) if oldest[name] <= sys.version_info[:2]]


def _find_azureml() -> str | None:
    """Return where `azureml` is installed: it is a namespace package, so it is recognized by its `core`."""
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
    """Create or change a symlink atomically: others may do the same, and always find one."""
    if _target(link) != target:
        atomic_symlink(target, link)
