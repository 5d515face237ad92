"""Processes of this machine: their identity, those that belong to a run, and how to end them.

A process is identified by its pid *and* its start time, so a reused pid is never mistaken for the old process. A
process belongs to a node of a run if it was started with the node's marker. Descending from the agent is not enough: a
job may have had to restart the server, and then the ranks of other runs descend from that agent too. Only a process
that has dropped all markers belongs to the marked process above it, or to the agent that adopted it as an orphan.

Footplate's own processes (servers, nurseries, agents and their programs) carry `FOOTPLATE_AGENT` and are never ended.

A process that cannot be checked is not dead: only the kernel's answer that it does not exist counts.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, NamedTuple

from footplate import environ
from footplate.backoff import Backoff
from footplate.lazy import Deferred

if TYPE_CHECKING:
    import ctypes

    import psutil
else:
    ctypes = Deferred("ctypes")  # takes milliseconds: used when the ranks are already starting
    psutil = Deferred("psutil")  # only on systems without /proc; never before the first line of a script

MACHINERY = environ.AGENT
"""Set in servers, nurseries, agents and programs that they start for themselves; never in ranks."""

_MARKS = tuple(name.encode() + b"=" for name in (MACHINERY, environ.RUN_ID))
_SHELLS = (b"sh", b"bash", b"dash", b"zsh", b"ksh")
_HAS_PROC = os.path.exists("/proc/self/stat")
_PR_SET_CHILD_SUBREAPER = 36
FORCE_SECONDS = 10.0


class Process(NamedTuple):
    pid: int
    parent: int
    started: str  # opaque: only compared
    zombie: bool


def marker(run: str, node: int, exits: str) -> dict[str, str]:
    """Return the variables that every rank of a node carries. The path makes them unique: another home may have the
    same run.
    """
    return {environ.RUN_ID: run, environ.NODE: str(node), environ.EXITS: exits}


def look(pid: int) -> Process | None:
    """Return the process with this pid; None if there is none. Raise OSError if that cannot be known now."""
    if not _HAS_PROC:
        return _look_with_psutil(pid)
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            text = file.read(4096)
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text[text.rfind(b")") + 2 :].split()  # the name of the command may contain spaces and brackets
    if len(fields) < 20:
        return None
    return Process(pid, int(fields[1]), fields[19].decode(), fields[0] in (b"Z", b"X"))


def _look_with_psutil(pid: int) -> Process | None:
    try:
        process = psutil.Process(pid)
        zombie = process.status() == psutil.STATUS_ZOMBIE
        return Process(pid, process.ppid(), repr(process.create_time()), zombie)
    except psutil.NoSuchProcess:
        return None
    except psutil.Error as error:
        raise OSError(f"process {pid} cannot be checked: {error}") from None


def identity(pid: int) -> str | None:
    """Return a string that identifies this process even if its pid is reused; None if it is dead."""
    process = look(pid)
    return None if process is None or process.zombie else f"{process.started}@{boot()}"


def exit_code(status: int) -> int:
    """Return the exit code of a wait status; a signal is its negative number."""
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def alive(pid: int, expected: str) -> bool:
    return identity(pid) == expected


def boot() -> str:
    """Return an id of the current boot: start times and the monotonic clock cannot be compared across boots."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read(8)
    except OSError:
        return "?"


def everyone() -> dict[int, Process]:
    looks = (look(pid) for pid in _pids())
    return {process.pid: process for process in looks if process is not None}


def _pids() -> list[int]:
    if _HAS_PROC:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return psutil.pids()


def variables(pid: int) -> frozenset[bytes]:
    """Return the environment that a process was started with, as NAME=value; empty if we may not read it."""
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            return frozenset(file.read().split(b"\0"))
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return frozenset()


def members(marks: dict[str, str], roots: Iterable[int] = (), agent: int | None = None) -> list[int]:
    """Return the living processes of a node: those with its marks, the `roots`, and unmarked ones below.

    Unmarked children of the agent count as well. This process itself is left out.
    """
    table = everyone()
    children = _children(table.values())
    marker = {os.fsencode(f"{name}={value}") for name, value in marks.items()}
    roots = set(roots)
    pids: list[int] = []
    waiting = [(process.pid, False) for process in table.values() if process.parent not in table]
    while waiting:
        pid, descends = waiting.pop()
        environment = variables(pid)
        is_marked = any(value.startswith(_MARKS) for value in environment)  # of some run, or Footplate's own
        unmarked = not is_marked and not _is_starting(pid, environment)
        ours = pid in roots or marker <= environment or (descends and unmarked)
        ours = ours and not _is_machinery(environment)
        if ours and pid != os.getpid() and not table[pid].zombie:
            pids.append(pid)
        waiting += [(child, ours or pid == agent) for child in children.get(pid, ())]
    return pids


def _children(processes: Iterable[Process]) -> dict[int, list[int]]:
    children: dict[int, list[int]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process.pid)
    return children


def _is_starting(pid: int, environment: frozenset[bytes]) -> bool:
    """Whether a process is about to begin its program: for a moment, the kernel shows no variables and no arguments."""
    if environment != frozenset((b"",)):
        return False
    try:
        with open(f"/proc/{pid}/cmdline", "rb", buffering=0) as file:
            return not file.read(1)
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False


def _is_machinery(environment: frozenset[bytes]) -> bool:
    return any(value.startswith(_MARKS[0]) for value in environment)


def handles(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal, which would otherwise kill it; True if that cannot be known."""
    if not _HAS_PROC:
        return True
    try:
        with open(f"/proc/{pid}/status", "rb", buffering=0) as file:
            mask = file.read(65536).partition(b"\nSigCgt:")[2].split(None, 1)[0]
    except (FileNotFoundError, ProcessLookupError, PermissionError, IndexError):
        return False
    return bool(int(mask, 16) >> (number - 1) & 1)


def through_shells(pids: Iterable[int]) -> list[int]:
    """Return these processes and, below those that are shells, the ones that the shells started."""
    children = _children(process for process in everyone().values() if not process.zombie)
    reached: list[int] = []
    waiting = list(pids)
    while waiting:
        pid = waiting.pop()
        reached.append(pid)
        if _program(pid) in _SHELLS:
            waiting += children.get(pid, ())
    return reached


def _program(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb", buffering=0) as file:
            return os.path.basename(file.read(4096).partition(b"\0")[0])
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""


def open_for_writing(pids: Iterable[int]) -> frozenset[tuple[int, int]]:
    """Return files that these processes have open for writing, by device and inode, as far as we may look."""
    files: set[tuple[int, int]] = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            for name in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError, ValueError, IndexError):  # closed in the meantime
                    with open(f"/proc/{pid}/fdinfo/{name}", "rb", buffering=0) as file:
                        flags = int(file.read(4096).split(b"flags:")[1].split()[0], 8)
                    if flags & os.O_ACCMODE:
                        info = os.stat(f"/proc/{pid}/fd/{name}")
                        files.add((info.st_dev, info.st_ino))
    return frozenset(files)


def shows_open_files(pids: Iterable[int]) -> bool:
    """Whether we may look at the open files of all these processes: not in containers of other users."""
    return _HAS_PROC and all(os.access(f"/proc/{pid}/fd", os.R_OK) for pid in pids if os.path.exists(f"/proc/{pid}"))


def below(root: int) -> list[int]:
    """Return the living descendants of a process, without Footplate's own: cheap enough for every second."""
    children = _children(process for process in everyone().values() if not process.zombie)
    waiting = list(children.get(root, ()))
    pids: list[int] = []
    while waiting:
        pid = waiting.pop()
        if not _is_machinery(variables(pid)):
            pids.append(pid)
            waiting += children.get(pid, ())
    return pids


def send(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            pass


def end(
    find: Callable[[], list[int]],
    grace: float,
    reap: Callable[[], None] = lambda: None,
    force: float = FORCE_SECONDS,
    ask: Callable[[], list[int]] | None = None,
) -> list[int]:
    """Ask all processes that `find` returns to end, wait `grace` seconds, then kill the rest; return the killed ones.

    `ask` returns the processes to ask instead, if they pass the request on. `reap` is called between looks, for dead
    children of this process. A process that survives SIGKILL (it may hang in the kernel) is given up after `force`
    seconds.
    """
    processes = (ask or find)()
    send(processes, signal.SIGTERM)
    send(processes, signal.SIGCONT)  # a stopped process would never receive it
    deadline = time.monotonic() + grace
    looks = Backoff(0.005, 0.1, factor=1.5)
    living = processes
    while living and time.monotonic() < deadline:
        time.sleep(min(looks.next(), max(deadline - time.monotonic(), 0.0)))
        reap()
        living = [pid for pid in living if _lives(pid)] or find()
    killed: list[int] = []
    give_up = time.monotonic() + force
    while living and time.monotonic() < give_up:
        killed += [pid for pid in living if pid not in killed]
        send(living, signal.SIGKILL)
        time.sleep(0.01)
        reap()
        living = find()
    return killed


def _lives(pid: int) -> bool:
    process = look(pid)
    return process is not None and not process.zombie


_adoption = threading.RLock()
_adopts = False
_has_adopted_all = True
"""Whether no orphan of our descendants can have gone to init since we became their subreaper."""


def become_subreaper() -> bool:
    """Become the parent of orphaned descendants instead of init; return whether this system can do that."""
    global _adopts
    with _adoption:
        _adopts = _set_subreaper(True)
        return _adopts


@contextlib.contextmanager
def adopting_nobody() -> Generator[None, None, None]:
    """Leave orphans to init meanwhile: a server that an agent has to start must not become the agent's child."""
    global _has_adopted_all
    with _adoption:
        adopts = _adopts and _set_subreaper(False)
        _has_adopted_all = _has_adopted_all and not adopts
        try:
            yield
        finally:
            if adopts:
                _set_subreaper(True)


def _set_subreaper(on: bool) -> bool:
    try:
        return ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, int(on), 0, 0, 0) == 0
    except (OSError, AttributeError):
        return False


def has_no_descendants() -> bool:
    """Whether nothing is left of what this process started since it became a subreaper; False if that is unknown."""
    if not _adopts or not _has_adopted_all:
        return False
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True  # an orphan would be our child, whatever sessions and groups it has left
    return False


def reap_strays(except_for: Iterable[int]) -> None:
    """Reap dead children that nobody waits for: orphans that this process adopted as their subreaper."""
    expected = set(except_for)
    while True:
        try:
            # Look before reaping, so that the exit status of a rank is never lost here.
            child = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if child is None or child.si_pid in expected:
            return
        os.waitpid(child.si_pid, 0)
