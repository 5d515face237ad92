"""Explains why a rank ended, from its exit status, the bootstrap's report, the kernel's counters and its last lines."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping, Sequence
from typing import Any

from footplate.domain.orders import NODE_LOST, Cause
from footplate.domain.runs.root_cause import blames_another, is_no_consequence
from footplate.domain.serving.pickles import numpy_hint
from footplate.domain.values import replace
from footplate.node.ranks.rank_process import Rank

LAST_LINES = 20
_LONGEST_LINE = 2000
_TAIL = 64 * 1024
_NOTE = 16 * 1024

_NOTED_LATE = 2.0
"""Seconds by which a rank that was killed by a signal is assumed to have ended before this was noticed. The other ranks
fail within milliseconds, and on a busy machine one of their reports, perhaps from another node, may be written first.
"""

_LOOK_ELSEWHERE = "it has lost another rank: see the logs of the others for one that ended early or does not answer"
_SIGNALS = {
    signal.SIGSEGV: "crashed with a segmentation fault (SIGSEGV)",
    signal.SIGBUS: "crashed with a bus error (SIGBUS): it reached memory that is not there, or a mapped file was cut",
    signal.SIGABRT: "aborted itself (SIGABRT): a library found a state that it could not continue from",
    signal.SIGFPE: "crashed with an arithmetic error (SIGFPE)",
    signal.SIGILL: "crashed with an illegal instruction (SIGILL): a library was built for another processor",
    signal.SIGXCPU: "used more processor time than its limit allows (SIGXCPU)",
    signal.SIGXFSZ: "wrote a file larger than its limit allows (SIGXFSZ)",
}


def of_rank(
    rank: Rank, node: int, note: Mapping[str, Any], log: str, starved: bool, full: bool = False
) -> Cause | None:
    """Return the cause for a rank that ended by itself; None if it ended well.

    `note` is the bootstrap's report (empty if there is none), `starved` whether the kernel ran out of memory, `full`
    whether the disk that the rank writes to is full.
    """
    code = note.get("code") if rank.code is None else _inside(rank, note)
    exception = note.get("exception")
    if code == 0:
        return None
    common: dict[str, Any] = {"node": node, "rank": rank.number, "last_lines": last_lines(log)}
    if exception:
        message = str(note.get("exception_message") or "")
        return Cause(
            "user_exception",
            f"{exception}: {message}" if message else str(exception),
            _hint_about(str(exception), message, note),
            exit_code=code,
            exception=str(exception),
            exception_message=message,
            traceback=note.get("traceback"),
            **common,
        )
    if code is None and not rank.pid and not os.path.exists(log):
        hint = "see whether somebody ended the agent or the machine ran out of memory"
        return Cause(NODE_LOST, "was not started: the node agent died while it started the ranks", hint, **common)
    if code is None:
        hint = "its last lines may show more; the node agent was killed while it ran"
        return Cause("unknown_exit", "ended while no agent watched it; its exit status is unknown", hint, **common)
    if code < 0:
        return _of_signal(-code, rank.peak, starved, common)
    if full and not note:
        hint = "free some space on the disk of the home folder; the log of the script may be incomplete"
        return Cause(
            "out_of_space", f"ended with exit code {code} while the disk was full", hint, exit_code=code, **common
        )
    hint = "its last lines may show why"
    if rank.enclosed and code == 125 and not note:
        hint = "check docker.arguments, and that the container engine works: its words are in the last lines"
        return Cause("start_failed", "the container could not be started", hint, exit_code=code, **common)
    if code in (126, 127):
        hint = "the shell could not find or execute a program of the command: see its last lines"
    return Cause("exit_code", f"ended with exit code {code}", hint, exit_code=code, **common)


def _hint_about(exception: str, message: str, note: Mapping[str, Any]) -> str:
    """Return a hint. A missing module is the most common end of a first run, a port in use that of a first gang."""
    where = "the traceback is in the run's error and at the end of its log"
    if "EADDRINUSE" in message or "Address already in use" in message:
        return f"another process of the machine has this port: use MASTER_PORT as it is set, or try again; {where}"
    if about_numpy := numpy_hint(message, note.get("numpy")):
        return f"{about_numpy}; {where}"
    moved = re.match(r"(cannot import name|No module named) '(sklearn\.externals\.)?(joblib|six)'", message)
    if moved and "sklearn.externals" in message:
        return (
            f"write `import {moved[3]}`, which scikit-learn has not contained since 0.23, or name the run's packages: "
            f"environments that Footplate builds have the old name; {where}"
        )
    missing = re.match(r"No module named '([^'.]+)", message) if exception == "ModuleNotFoundError" else None
    if missing is None:
        return where
    name = missing[1]
    return (
        f"if {name!r} is a package, add what has it to the environment: conda_dependencies.add_pip_package({name!r}); "
        f"if it is yours, put it into the source folder; {where}"
    )


def was_killed(rank: Rank, note: Mapping[str, Any]) -> bool:
    return rank.code is not None and _inside(rank, note) == -signal.SIGKILL


def _inside(rank: Rank, note: Mapping[str, Any]) -> int:
    """Return the exit status inside a container, which reports a signal as 128 plus its number, as shells do."""
    code = rank.code or 0
    return 128 - code if rank.enclosed and not note and 128 < code < 128 + signal.NSIG else code


def _of_signal(number: int, peak: int | None, starved: bool, common: dict[str, Any]) -> Cause:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    if number == signal.SIGKILL and starved:
        size = f" (the largest size of one of its processes was {peak / 2**30:.1f} GiB)" if peak else ""
        hint = "use smaller batches, fewer data loader workers, or a machine with more memory"
        words = f"killed by the kernel's out-of-memory killer{size}"
        return Cause("out_of_memory", words, hint, signal=name, **common)
    words = _SIGNALS.get(signal.Signals(number)) if name.startswith("SIG") else None
    hint = "Footplate did not send it: look for who did, on this machine" if words is None else "see its last lines"
    if number == signal.SIGKILL:
        hint = (
            "a machine or container that is short of memory does this: compare the run's memory with its limit, use "
            "smaller batches or fewer data loader workers; or look for who else did it, on this machine"
        )
    return Cause("signal", words or f"ended by {name}, which Footplate did not send", hint, signal=name, **common)


def time_of_failure(cause: Cause, noted: float) -> float:
    """Return when a rank failed, given when its end was noticed."""
    return noted - (_NOTED_LATE if is_no_consequence(cause) else 0.0)


def first(failures: Sequence[tuple[float, Cause]], among_others: bool, tasks: Mapping[int, str] | None = None) -> Cause:
    """Return the cause of the rank that failed first: the others mostly fail because of it.

    `tasks` are names by which people know some ranks.

    A rank that reports a lost peer describes an earlier failure, whatever the times are: a rank may leave its group,
    which the others notice at once, long before it has reported its own exception.
    """
    time, cause = min(failures, key=lambda pair: (blames_another(pair[1]), pair[0]))
    if not among_others:
        return cause
    hint = _LOOK_ELSEWHERE if blames_another(cause) else cause.hint
    task = (tasks or {}).get(cause.rank if cause.rank is not None else -1)
    who = f"rank {cause.rank} ({task})" if task else f"rank {cause.rank}"
    return replace(cause, message=f"{who} on node {cause.node}: {cause.message}", hint=hint, time=time)


def last_lines(log: str) -> tuple[str, ...]:
    """Return the last lines of a log file, shortened to a readable length."""
    try:
        with open(log, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL))
            text = file.read(_TAIL)
    except OSError:
        return ()
    lines = text.decode("utf-8", "replace").splitlines()
    return tuple(line[:_LONGEST_LINE] for line in lines[-LAST_LINES:])


def has_no_room(folder: str) -> bool:
    """Whether not even the shortest report can be written there."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize < _NOTE


def oom_kills() -> int:
    """Count the out-of-memory kills so far, on this machine and in our own control groups."""
    return _counter("/proc/vmstat", "oom_kill") + sum(_counter(path, "oom_kill") for path in _group_files())


def _group_files() -> list[str]:
    try:
        with open("/proc/self/cgroup") as file:
            rows = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return []
    files: list[str] = []
    for _, controllers, path in (row for row in rows if len(row) == 3):
        if not controllers:
            files.append(f"/sys/fs/cgroup{path}/memory.events")
        elif "memory" in controllers.split(","):
            files.append(f"/sys/fs/cgroup/memory{path}/memory.oom_control")
    return files


def _counter(path: str, name: str) -> int:
    try:
        with open(path) as file:
            rows: Sequence[list[str]] = [line.split() for line in file]
    except OSError:
        return 0
    return next((int(row[1]) for row in rows if len(row) == 2 and row[0] == name), 0)
