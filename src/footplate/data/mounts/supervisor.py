"""The supervisor process of a mount: `python -m footplate.data.mounts.supervisor`, with its task as JSON on stdin.

    <record>/mount.json         the mount point
    <record>/owner.lock         flock'ed by the owner of the mount
    <record>/supervisor.lock    flock'ed by this process
    <record>/guards             other processes that read the mount: "pid start-time" on each line

It waits until the owner has released its lock, by closing the mount or by dying, and all guards have ended; then it
unmounts. Another owner may take the lock in the meantime. A child process serves the file system; it unmounts if its
parent dies, and the parent unmounts if the child dies. If both are killed at once, the next mount on this machine finds
a record without locks, and cleans up (`mount.sweep`).

As root the mount exists before this process starts, and readers wait until the child serves its FUSE device. Without
root the owner waits until this process is ready. So it imports only what it needs, when it needs it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from footplate.data.mounts.syscalls import pidfd_open, unmount, wait_readable
from footplate.disk import FileLock
from footplate.lazy import Deferred

if TYPE_CHECKING:
    from footplate.data.mounts import serving
else:
    serving = Deferred("footplate.data.mounts.serving")  # slow, and only the child process needs it

_POLL_SECONDS = 0.5
_RECORD_FILE = "mount.json"


def main() -> None:
    task: dict[str, Any] = json.loads(sys.stdin.readline())
    record, at = task["record"], task["at"]
    try:
        own_lock = FileLock(f"{record}/supervisor.lock")
    except FileNotFoundError:  # closed before we started
        return
    own_lock.take()
    if task["view"]:  # keeps the cache from removing the view while guards read it, even if the owner is gone
        FileLock(task["view"], os.O_RDWR).take(shared=True)
    wake_reader, wake_writer = os.pipe()
    signal.signal(signal.SIGTERM, lambda number, frame: os.write(wake_writer, b"x"))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    child = _start_serving(task) if task.get("serve") else None
    if task.get("device") is not None:
        os.close(task["device"])  # only the child keeps it open, so readers get an error if it dies instead of hanging
    threading.Thread(target=_watch_owner, args=(record, wake_writer), daemon=True).start()
    waiting = [wake_reader] if child is None else [wake_reader, pidfd_open(child)]
    wait_readable(waiting)
    _end(record, at, child)
    if task.get("serve"):
        _make_view(task)


def _end(record: str, at: str, child: int | None) -> None:
    """Unmount and remove the record.

    An owner that closed the mount removed the record before it released its lock: then nothing is left to do, and a
    mount that is now at the same place belongs to somebody else.
    """
    ours = os.path.exists(f"{record}/{_RECORD_FILE}")
    if ours:
        unmount(at)
    if child is not None:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)
    if ours:
        remove(record, at)
    else:
        _remove_record(record)


def remove(record: str, at: str) -> None:
    """Remove the empty folder or file that was the mount point, and the record. Either may be gone already."""
    with suppress(OSError):
        os.rmdir(at) if os.path.isdir(at) else os.path.getsize(at) or os.unlink(at)
    _remove_record(record)


def _remove_record(record: str) -> None:
    with suppress(OSError):
        # mount.json goes first, because a record without it is nobody's.
        for name in sorted(os.listdir(record), key=lambda name: name != _RECORD_FILE):
            os.unlink(f"{record}/{name}")
        os.rmdir(record)


# ── Waiting ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _watch_owner(record: str, wake_writer: int) -> None:
    try:
        owner = FileLock(f"{record}/owner.lock", os.O_RDWR)
        while True:
            owner.take()
            if not living_guards(record):
                break
            owner.release()  # so that another owner can take it
            time.sleep(_POLL_SECONDS)
    except FileNotFoundError:  # closed already
        pass
    os.write(wake_writer, b"x")


def living_guards(record: str) -> list[int]:
    try:
        with open(f"{record}/guards", encoding="ascii") as file:
            noted = [line.split() for line in file if line.endswith("\n")]
    except FileNotFoundError:
        return []
    return [int(pid) for pid, started in noted if _lives(int(pid), started)]


def _lives(pid: int, started: str) -> bool:
    try:
        return start_time_of(pid) == started
    except OSError:  # a process that cannot be checked is not dead
        return True


def start_time_of(pid: int) -> str | None:
    """Return a process's start time in clock ticks, which distinguishes processes with the same pid.

    Return None if it is dead. Raise OSError if that cannot be known now.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in (b"Z", b"X") else fields[19].decode()


# ── Serving ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _start_serving(task: dict[str, Any]) -> int:
    parent = pidfd_open(os.getpid())  # before the fork: we may be killed before the child runs
    child = os.fork()
    if child:
        os.close(parent)
        return child
    code = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        threading.Thread(target=_unmount_after, args=(parent, task["at"]), daemon=True).start()
        serving.serve(task)
        code = 0
    except BaseException as error:  # the owner waits for a message, whatever the error
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.stderr.flush()
    finally:
        os._exit(code)


def _unmount_after(parent: int, at: str) -> None:
    wait_readable([parent])
    unmount(at)


def _make_view(task: dict[str, Any]) -> None:
    with suppress(OSError):  # runs only while the machine is otherwise idle
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    serving.make_view(task)


if __name__ == "__main__":
    main()
