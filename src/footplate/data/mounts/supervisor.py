"""The process beside a mount that ends it: `python -m footplate.data.mounts.supervisor`, task as JSON on stdin.

    <record>/mount.json     where it is mounted
    <record>/owner.lock     flock'ed by whoever the mount is for
    <record>/keeper.lock    flock'ed by this process
    <record>/guards         processes that read there, too: "pid started" on each line

It waits until the owner has let go of its lock, by closing the mount or by dying, and none of the guards lives any
more; then it unmounts. Another owner may take the lock meanwhile. The file system itself is served by a child, which
unmounts when its parent is gone, as the parent does when the child is; if both are killed at once, the next mount on
this machine finds a record that nobody has locked, and cleans up (`mount.sweep`).

Who mounts as root mounts at once, and hands the device of FUSE over: whoever looks there before the child serves waits
for it. Others wait for this process to be ready. So it loads only what it needs, when it needs it.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import Any

from footplate.data.mounts.syscalls import unmount

_LOOK_SECONDS = 0.5
_PLACE = "mount.json"


def main() -> None:
    task: dict[str, Any] = json.loads(sys.stdin.readline())
    record, at = task["record"], task["at"]
    try:
        mine = os.open(f"{record}/keeper.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:  # closed before we came
        return
    fcntl.flock(mine, fcntl.LOCK_EX)
    if task["view"]:  # so that the cache leaves it to those who read, also when the owner is gone
        fcntl.flock(os.open(task["view"], os.O_RDWR | os.O_CLOEXEC), fcntl.LOCK_SH)
    told, tell = os.pipe()
    signal.signal(signal.SIGTERM, lambda number, frame: os.write(tell, b"x"))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    child = _start_serving(task) if task.get("serve") else None
    if task.get("device") is not None:
        os.close(task["device"])  # the child's alone: when it dies, whoever reads is told, and does not wait for ever
    threading.Thread(target=_watch_owner, args=(record, tell), daemon=True).start()
    waiting = [told] if child is None else [told, os.pidfd_open(child)]
    select.select(waiting, [], [])
    _end(record, at, child)
    if task.get("serve"):
        _make_view(task)


def _end(record: str, at: str, child: int | None) -> None:
    """An owner that has closed the mount has taken the record away before it let go of its lock: then there is nothing
    left to do here, and what is mounted at the same place by now is another's."""
    ours = os.path.exists(f"{record}/{_PLACE}")
    if ours:
        unmount(at)
    if child is not None:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)
    if ours:
        remove(record, at)
    else:
        _forget(record)


def remove(record: str, at: str) -> None:
    """Take away the empty folder, or file, that was mounted on, and the record. What is gone already is no error."""
    with suppress(OSError):
        os.rmdir(at) if os.path.isdir(at) else os.path.getsize(at) or os.unlink(at)
    _forget(record)


def _forget(record: str) -> None:
    with suppress(OSError):
        for name in sorted(os.listdir(record), key=lambda name: name != _PLACE):  # without it nothing is ours any more
            os.unlink(f"{record}/{name}")
        os.rmdir(record)


# ── Waiting ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _watch_owner(record: str, tell: int) -> None:
    try:
        owner = os.open(f"{record}/owner.lock", os.O_RDWR | os.O_CLOEXEC)
        while True:
            fcntl.flock(owner, fcntl.LOCK_EX)
            if not living_guards(record):
                break
            fcntl.flock(owner, fcntl.LOCK_UN)  # so that another owner can take it
            time.sleep(_LOOK_SECONDS)
    except FileNotFoundError:  # closed already
        pass
    os.write(tell, b"x")


def living_guards(record: str) -> list[int]:
    try:
        with open(f"{record}/guards", encoding="ascii") as file:
            noted = [line.split() for line in file if line.endswith("\n")]
    except FileNotFoundError:
        return []
    return [int(pid) for pid, started in noted if started_of(int(pid)) == started]


def started_of(pid: int) -> str | None:
    """When a process began, as the kernel counts; None for one that is dead. It tells apart two with the same pid."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else fields[19].decode()


# ── Serving ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _start_serving(task: dict[str, Any]) -> int:
    parent = os.getpid()
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        threading.Thread(target=_unmount_without, args=(os.pidfd_open(parent), task["at"]), daemon=True).start()
        _serve(task)
        code = 0
    except BaseException as error:  # whatever it is, the owner waits for words
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.stderr.flush()
    finally:
        os._exit(code)


def _unmount_without(parent: int, at: str) -> None:
    select.select([parent], [], [])
    unmount(at)


def _serve(task: dict[str, Any]) -> None:
    from footplate.data.mounts import fuse  # here and below: only the child that serves pays for loading them

    stores, cache, tree = _open(task)
    at = task["at"] if task["device"] is None else f"/dev/fd/{task['device']}"
    fuse.serve(tree, stores, cache, at, _say_ready)


def _open(task: dict[str, Any]) -> tuple[Any, Any, Any]:
    from footplate.content.listing import Listing
    from footplate.data.cache import DataCache
    from footplate.data.mounts.tree import ListingTree, StoreTree
    from footplate.data.stores.registry import open_later
    from footplate.domain.data import StoreSpec

    stores = {label: open_later(StoreSpec(**spec)) for label, spec in task["stores"].items()}
    cache = DataCache(task["cache"], task["limit"])
    if task["listing"]:
        return stores, cache, ListingTree(Listing(task["listing"]))
    return stores, cache, StoreTree(stores[""], task["folder"])


def _say_ready() -> None:
    with suppress(BrokenPipeError):  # not everybody waits for it
        os.write(1, b"ready\n")


def _make_view(task: dict[str, Any]) -> None:
    """What was read is in the cache. If that is everything, the next run needs no FUSE."""
    if not task["listing"]:
        return
    from footplate.content.listing import Listing
    from footplate.data.mounts.views import make_view_of_cached

    with suppress(OSError):  # only while nobody else wants the machine
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    stores, cache, _ = _open(task)
    make_view_of_cached(cache, task["name"], Listing(task["listing"]), stores)


if __name__ == "__main__":
    main()
