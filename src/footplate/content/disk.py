"""Bytes onto a disk: written aside, copied the cheapest way, synced; a full disk is OutOfSpace and leaves nothing."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from typing import Generator, Sequence

from footplate.errors import OutOfSpace

CHUNK = 1024 * 1024
"""How much is read at a time."""

_MANY = 64  # from here on, one sync of the file system is cheaper than one of each file
_FICLONE = 0x40049409
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_CANNOT_COPY_SO = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTTY, errno.EPERM, errno.EBADF)


@contextlib.contextmanager
def space(where: str) -> Generator[None, None, None]:
    try:
        yield
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise OutOfSpace(
                f"no space left under {where}: {error.strerror}", "free some disk space and try again"
            ) from error
        raise


@contextlib.contextmanager
def aside_file(path: str, mode: int) -> Generator[int, None, None]:
    """A new file to write to, which is gone again when that fails."""
    with space(os.path.dirname(path)):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            try:
                yield fd
            finally:
                os.close(fd)  # here, so that an error that only closing reports removes the file as well
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            raise


def write_all(out: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(out, rest) :]


def copy(source: int, out: int) -> None:
    """The cheapest way that this pair of file systems knows: share the blocks, copy in the kernel, copy here."""
    with _else_next():
        fcntl.ioctl(out, _FICLONE, source)
        return
    for kernel_copy in (_copy_range, _send):
        with _else_next():
            while kernel_copy(source, out):
                pass
            return
    for chunk in iter(lambda: os.read(source, CHUNK), b""):
        write_all(out, chunk)


def _copy_range(source: int, out: int) -> int:
    if not hasattr(os, "copy_file_range"):
        raise OSError(errno.ENOSYS, "no copy_file_range")
    return os.copy_file_range(source, out, 128 * CHUNK)


def _send(source: int, out: int) -> int:
    # With no offset given, both descriptors move on, so the next way goes on where this one stopped.
    return os.sendfile(out, source, None, 128 * CHUNK)  # pyright: ignore[reportArgumentType]


@contextlib.contextmanager
def _else_next() -> Generator[None, None, None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _CANNOT_COPY_SO:
            raise


def sync(paths: Sequence[str]) -> None:
    """See that files or folders of one file system are on the disk."""
    if len(paths) >= _MANY and _sync_file_system(paths[0]):
        return
    for path in paths:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _sync_file_system(path: str) -> bool:
    """syncfs(2), which the os module does not have; False where the C library does not have it either."""
    import ctypes  # slow to load, and only worth it for hundreds of files

    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:
        return False
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return syncfs(fd) == 0
    finally:
        os.close(fd)
