"""mount(2) and umount(2), which the os module does not have."""

from __future__ import annotations

import ctypes
import os

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_REMOUNT, _MS_BIND = 1, 2, 4, 32, 4096
_MNT_DETACH = 2
_libc = ctypes.CDLL(None, use_errno=True)


def bind_read_only(source: str, at: str) -> None:
    """Show the folder `source` at `at`, where nothing can be changed. OSError where that is not allowed."""
    _mount(source, at, _MS_BIND)
    try:
        _mount(source, at, _MS_BIND | _MS_REMOUNT | _MS_RDONLY | _MS_NOSUID | _MS_NODEV)
    except OSError:
        unmount(at)
        raise


def _mount(source: str, at: str, flags: int) -> None:
    if _libc.mount(os.fsencode(source), os.fsencode(at), None, ctypes.c_ulong(flags), None) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), at)


def unmount(at: str) -> None:
    """Take away what is mounted at `at`, also while somebody reads there. Nothing mounted is no error."""
    while is_mounted(at):
        if _libc.umount2(os.fsencode(at), _MNT_DETACH) == 0:
            continue
        if _run("fusermount3", "-u", "-z", at) != 0:  # a user who is not root may only ask the helper of FUSE
            return


def is_mounted(at: str) -> bool:
    """Also of a file system whose process is dead, where looking at the path itself would fail."""
    wanted = os.fsencode(at)
    with open("/proc/self/mountinfo", "rb") as file:
        return any(_unescape(line.split(b" ", 5)[4]) == wanted for line in file)


def _unescape(path: bytes) -> bytes:
    for code, character in ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n"), (b"\\134", b"\\")):
        path = path.replace(code, character)
    return path


def _run(*argv: str) -> int:
    try:
        return os.waitstatus_to_exitcode(os.waitpid(os.posix_spawnp(argv[0], argv, os.environ), 0)[1])
    except OSError:
        return 127
