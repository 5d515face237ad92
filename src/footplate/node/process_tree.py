"""Processes of this machine: who is who, who belongs to a run, and how all of them are ended.

A process is known by its pid *and* its start time, so a pid that was used again is never mistaken for the old one. A
process belongs to a node of a run when it descends from the agent (daemons that called `setsid` come back to it, which
is their subreaper), or when it was started with the run's marker (so those of a killed agent are found).

Footplate's own machinery may well descend from an agent: a server that had to be started again, and the agents that
it started. It carries `FOOTPLATE_AGENT`, or is named by the caller, and is left alone with all that it started.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from footplate import environ
from footplate.backoff import Backoff

MACHINERY = environ.AGENT
"""In the environment of agents and of what they start for themselves; never in that of a rank."""

_MACHINERY = MACHINERY.encode() + b"="
_HAS_PROC = os.path.exists("/proc/self/stat")
_PR_SET_CHILD_SUBREAPER = 36
FORCE_SECONDS = 10.0


class Process(NamedTuple):
    pid: int
    parent: int
    started: str  # opaque; only ever compared
    zombie: bool


def marker(run: str, node: int, exits: str) -> dict[str, str]:
    """The variables that every rank of a node carries. The path makes it unique: another home may have the same run."""
    return {environ.RUN_ID: run, environ.NODE: str(node), environ.EXITS: exits}


def look(pid: int) -> Process | None:
    """The process with this pid, None when there is none (or none that could be seen)."""
    if not _HAS_PROC:
        return _look_with_psutil(pid)
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            text = file.read(4096)
    except OSError:
        return None
    fields = text[text.rfind(b")") + 2 :].split()  # the command's name may hold spaces and brackets
    if len(fields) < 20:
        return None
    return Process(pid, int(fields[1]), fields[19].decode(), fields[0] in (b"Z", b"X"))


def _look_with_psutil(pid: int) -> Process | None:
    import psutil  # noqa: PLC0415  # only where there is no /proc; never on the way to the first line of a script

    try:
        process = psutil.Process(pid)
        zombie = process.status() == psutil.STATUS_ZOMBIE
        return Process(pid, process.ppid(), repr(process.create_time()), zombie)
    except psutil.Error:
        return None


def identity(pid: int) -> str | None:
    """A word for this very process, which no later process with the same pid will have; None when it is dead."""
    process = look(pid)
    return None if process is None or process.zombie else f"{process.started}@{_boot()}"


def alive(pid: int, known: str) -> bool:
    return identity(pid) == known


def _boot() -> str:
    # Start times count from boot, so they say nothing across boots.
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read(8)
    except OSError:
        return "?"


def everyone() -> dict[int, Process]:
    found = (look(pid) for pid in _pids())
    return {process.pid: process for process in found if process is not None}


def _pids() -> list[int]:
    if _HAS_PROC:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    import psutil  # noqa: PLC0415  # as above

    return psutil.pids()


def variables(pid: int) -> frozenset[bytes]:
    """The environment that a process was started with, as NAME=value; empty when it cannot be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            return frozenset(file.read().split(b"\0"))
    except OSError:
        return frozenset()


def members(wanted: dict[str, str], root: int | None = None, spared: Iterable[int] = ()) -> list[int]:
    """The living processes of a node: those below `root`, and those with the marker `wanted` and what they started.

    Without this process itself, without machinery, and without anything below the pids `spared`.
    """
    table = everyone()
    children: dict[int, list[int]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process.pid)
    marks = {os.fsencode(f"{name}={value}") for name, value in wanted.items()}
    spared, found = set(spared), list[int]()
    waiting = [(process.pid, False, False) for process in table.values() if process.parent not in table]
    while waiting:
        pid, descends, sheltered = waiting.pop()
        if pid == root:
            waiting += [(child, True, False) for child in children.get(pid, ())]
            continue
        environment = variables(pid)
        sheltered = sheltered or pid in spared
        machinery = any(value.startswith(_MACHINERY) for value in environment)
        ours = not sheltered and not machinery and (descends or marks <= environment)
        if ours and pid != os.getpid() and not table[pid].zombie:
            found.append(pid)
        waiting += [(child, ours, sheltered) for child in children.get(pid, ())]
    return found


def open_for_writing(pids: Iterable[int]) -> frozenset[tuple[int, int]]:
    """Files that these processes have open to write to, by device and inode, as far as we may look."""
    found = set[tuple[int, int]]()
    for pid in pids:
        with contextlib.suppress(OSError):
            for name in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError, ValueError, IndexError):  # closed while we look
                    with open(f"/proc/{pid}/fdinfo/{name}", "rb", buffering=0) as file:
                        flags = int(file.read(4096).split(b"flags:")[1].split()[0], 8)
                    if flags & os.O_ACCMODE:
                        info = os.stat(f"/proc/{pid}/fd/{name}")
                        found.add((info.st_dev, info.st_ino))
    return frozenset(found)


def below(root: int) -> list[int]:
    """The living descendants of a process, whoever they are: cheap enough to be asked every second."""
    children: dict[int, list[int]] = {}
    for process in everyone().values():
        if not process.zombie:
            children.setdefault(process.parent, []).append(process.pid)
    found = list(children.get(root, ()))
    for pid in found:
        found += children.get(pid, ())
    return found


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
    """Ask all that `find` gives to end, wait `grace` seconds, then kill until it gives nothing; returns who was killed.

    `ask` gives those to ask instead, where they pass it on to the others. `reap` is called between looks, for dead
    children of this process. What does not even die when it is killed (it may hang in the kernel) is given up after
    `force` seconds.
    """
    asked = (ask or find)()
    send(asked, signal.SIGTERM)
    send(asked, signal.SIGCONT)  # a stopped process would never hear of it
    deadline, looks, left = time.monotonic() + grace, Backoff(0.005, 0.1, factor=1.5), asked
    while left and time.monotonic() < deadline:
        time.sleep(min(looks.next(), max(deadline - time.monotonic(), 0.0)))
        reap()
        left = [pid for pid in left if _lives(pid)] or find()
    killed = list[int]()
    give_up = time.monotonic() + force
    while left and time.monotonic() < give_up:
        killed += [pid for pid in left if pid not in killed]
        send(left, signal.SIGKILL)
        time.sleep(0.01)
        reap()
        left = find()
    return killed


def _lives(pid: int) -> bool:
    process = look(pid)
    return process is not None and not process.zombie


def become_subreaper() -> bool:
    """Have orphans among our descendants come to us instead of to init. Says whether this system can do that."""
    import ctypes  # noqa: PLC0415  # costs milliseconds: called when the ranks are already on their way

    try:
        return ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    except (OSError, AttributeError):
        return False


def reap_strays(except_for: Iterable[int]) -> None:
    """Bury dead children that nobody waits for: orphans that came to us as their subreaper."""
    expected = set(except_for)
    while True:
        try:
            # Looked at before it is taken, so that the exit status of a rank is never lost here.
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if found is None or found.si_pid in expected:
            return
        os.waitpid(found.si_pid, 0)
