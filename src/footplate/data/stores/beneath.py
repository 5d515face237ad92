"""Opening of files beneath a directory, even if others put symlinks there: openat2(2), which the os module lacks.

A path that leads outside is an OSError with the errno EXDEV. Symlinks that stay inside are followed. On kernels without
openat2 (before 5.6), or where a sandbox forbids it, the path is walked by components, and all symlinks are refused.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct

_SYS_OPENAT2 = 437  # the same on all architectures
_RESOLVE_NO_MAGICLINKS, _RESOLVE_BENEATH = 0x02, 0x08
_UNSUPPORTED = (errno.ENOSYS, errno.EPERM)
_ATTEMPTS = 100
_libc = ctypes.CDLL(None, use_errno=True)


def open_beneath(directory: int, path: str, flags: int) -> int:
    """Open an existing file or folder at `path` beneath the directory."""
    try:
        return open_with_openat2(directory, path, flags)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    return open_by_components(directory, path, flags)


def open_with_openat2(directory: int, path: str, flags: int) -> int:
    how = struct.pack("QQQ", flags | os.O_CLOEXEC, 0, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS)
    name = os.fsencode(path or ".")
    number = 0
    for _ in range(_ATTEMPTS):
        file = _libc.syscall(_SYS_OPENAT2, directory, name, how, len(how))
        number = ctypes.get_errno()
        if file >= 0:
            return file
        if number != errno.EAGAIN:  # it means that something was renamed during the walk
            break
    raise OSError(number, os.strerror(number), path)


def open_by_components(directory: int, path: str, flags: int) -> int:
    """Walk the path component by component. Refuse every symlink, and `..`."""
    *parents, last = [part for part in path.split("/") if part not in ("", ".")] or ["."]
    current = os.dup(directory)
    try:
        for name in parents:
            _refuse_link(current, name, path)
            below = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=current)
            os.close(current)
            current = below
        _refuse_link(current, last, path)
        return os.open(last, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=current)
    finally:
        os.close(current)


def _refuse_link(directory: int, name: str, path: str) -> None:
    if name == ".." or stat.S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)


def make_directories(directory: int, path: str) -> int:
    """Open the folder at `path` beneath the directory, after creating it and its parents as needed."""
    try:
        return open_beneath(directory, path, os.O_PATH | os.O_DIRECTORY)
    except FileNotFoundError:
        above, _, name = path.rpartition("/")
    parent = make_directories(directory, above)
    try:
        os.mkdir(name, dir_fd=parent)
    except FileExistsError:  # made by another thread, or a dangling symlink, which the next attempt reports
        if os.path.islink(f"/proc/self/fd/{parent}/{name}"):
            raise
    finally:
        os.close(parent)
    return make_directories(directory, path)
