"""mount(2) and umount(2), which the os module lacks, and a wait for files."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import os
import select
import tempfile
from collections.abc import Sequence
from typing import IO

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_REMOUNT, _MS_BIND = 1, 2, 4, 32, 4096
_MNT_DETACH = 2
_SYS_PIDFD_OPEN = 434
READ_AHEAD = 1024 * 1024
"""Read-ahead of the kernel for remote files: the most that one FUSE request can carry."""

_libc = ctypes.CDLL(None, use_errno=True)


def bind_read_only(source: str, at: str) -> None:
    """Show the folder `source` read-only at `at`. Raise OSError where that is not allowed."""
    _mount(source, at, _MS_BIND)
    try:
        _mount(source, at, _MS_BIND | _MS_REMOUNT | _MS_RDONLY | _MS_NOSUID | _MS_NODEV)
    except OSError:
        unmount(at)
        raise


def overlay(below: str, changes: str, at: str) -> None:
    """Show the folder `below` at `at`; writes go to the new folder `changes`.

    Raise OSError where that is not possible.
    """
    above, work = f"{changes}/above", f"{changes}/work"
    for folder in (above, work):
        os.makedirs(folder)
    if any(mark in path for path in (below, changes) for mark in ",:\\"):  # special characters in mount options
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), below)
    # Without redirects a script could not rename a folder of the lower layer.
    options = f"lowerdir={below},upperdir={above},workdir={work},redirect_dir=on,index=off,metacopy=off"
    _mount("footplate", at, _MS_NOSUID | _MS_NODEV, "overlay", options)


def can_overlay(folder: str) -> bool:
    """Return whether this folder can hold an overlay's changes, by trying it."""
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as trial:
        below, at = f"{trial}/below", f"{trial}/at"
        try:
            os.mkdir(below)
            os.mkdir(at)
            overlay(below, f"{trial}/changes", at)
        except OSError:
            return False
        unmount(at)
    return True


def mount_fuse(at: str) -> int:
    """Mount a FUSE file system that no process serves yet, and return its device.

    Raise OSError where that is not allowed.

    Readers wait until a process serves the device, and get an error once it is closed everywhere.
    """
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={device},rootmode=40000,user_id={os.geteuid()},group_id={os.getegid()}"
    try:
        _mount("footplate", at, _MS_RDONLY | _MS_NOSUID | _MS_NODEV, "fuse", options)
    except OSError:
        os.close(device)
        raise
    with contextlib.suppress(OSError, StopIteration):  # slow reads are better than no mount
        number = next(line.split(b" ", 3)[2] for line in _read_mounts() if _mount_point_of(line) == os.fsencode(at))
        with open(f"/sys/class/bdi/{number.decode()}/read_ahead_kb", "w", encoding="ascii") as file:
            file.write(str(READ_AHEAD // 1024))
    return device


@functools.lru_cache(maxsize=1)
def fuse_library() -> str | None:
    """Return the name of libfuse on this machine, or None."""
    for name in ("libfuse3.so.3", "libfuse3.so.4"):
        with contextlib.suppress(OSError):
            ctypes.CDLL(name)
            return name
    return None


def _mount(source: str, at: str, flags: int, kind: str | None = None, options: str | None = None) -> None:
    encoded = [None if text is None else os.fsencode(text) for text in (source, at, kind, options)]
    if _libc.mount(*encoded[:3], ctypes.c_ulong(flags), encoded[3]) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), at)


def unmount(at: str) -> None:
    """Unmount `at`, even while it is being read. It is not an error if nothing is mounted."""
    while is_mounted(at):
        if _libc.umount2(os.fsencode(at), _MNT_DETACH) == 0:
            continue
        if _run("fusermount3", "-u", "-z", at) != 0:  # only the setuid helper of FUSE may unmount for ordinary users
            return


def is_mounted(at: str) -> bool:
    """Return whether something is mounted. Works for a dead FUSE process too, where a stat of the path would fail."""
    encoded = os.fsencode(at)
    return any(_mount_point_of(line) == encoded for line in _read_mounts())


def _read_mounts() -> list[bytes]:
    with open("/proc/self/mountinfo", "rb") as file:
        return file.readlines()


def _mount_point_of(line: bytes) -> bytes:
    path = line.split(b" ", 5)[4]
    for code, character in ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n"), (b"\\134", b"\\")):
        path = path.replace(code, character)
    return path


def _run(*argv: str) -> int:
    try:
        status = os.waitpid(os.posix_spawnp(argv[0], argv, os.environ), 0)[1]
        return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
    except OSError:
        return 127


def pidfd_open(pid: int) -> int:
    """Return a file that becomes readable when a process ends. Python has this only since 3.9."""
    if hasattr(os, "pidfd_open"):
        return os.pidfd_open(pid)
    file = _libc.syscall(_SYS_PIDFD_OPEN, pid, 0)
    if file < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    os.set_inheritable(file, False)
    return int(file)


def wait_readable(files: Sequence[int | IO[bytes]], seconds: float | None = None) -> bool:
    """Wait until one of the files has data or is closed; return False after some seconds without.

    Unlike `select.select` it takes descriptors beyond 1023, which processes with many open files have.
    """
    events = select.poll()
    for file in files:
        events.register(file, select.POLLIN)
    return bool(events.poll(None if seconds is None else seconds * 1000))
