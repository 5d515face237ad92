"""Write files whole or not at all, lock them, copy them the cheapest way, sync them, and report a full disk.

An atomic write goes to a temporary file, which is renamed when it is complete: readers see the old file or the new
one. `durable` also syncs it before the rename, so that a power failure cannot leave an empty file under the name.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import sys
import time
from typing import Generator, Optional, Sequence, Union

from footplate.errors import OutOfSpace

Path = Union[str, "os.PathLike[str]"]

CHUNK = 1024 * 1024
"""Bytes to read at a time."""

LITTLE_SPACE = 8 << 20
"""With fewer free bytes than this, a disk counts as full: the next piece of a log or an output may not fit."""

LONGEST_SOCKET_PATH = 100
"""The address of a Unix socket has at most 103 bytes on the strictest kernel."""

_MANY = 64  # from here on, one sync of the file system is cheaper than one of each file
_FICLONE = 0x40049409
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NOT_SUPPORTED = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTTY, errno.EPERM, errno.EBADF)


@contextlib.contextmanager
def space(where: str) -> Generator[None, None, None]:
    """Raise OutOfSpace for a full disk or an exhausted quota."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise OutOfSpace(
                f"no space left under {where}: {error.strerror}", "free some disk space and try again"
            ) from error
        raise


def free_bytes(folder: Path) -> int:
    """Return the bytes that the file system of a folder has left for us."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


# ── Atomic writes ─────────────────────────────────────────────────────────────────────────────────────────────────────


def atomic_write(
    path: Path, data: bytes, *, durable: bool, mode: int = 0o666, temporary: Optional[Path] = None
) -> None:
    """Make `data` the content of the file."""
    with atomic_file(path, durable=durable, mode=mode, temporary=temporary) as out:
        write_all(out, data)


@contextlib.contextmanager
def atomic_file(
    path: Path, *, durable: bool, mode: int = 0o666, temporary: Optional[Path] = None, overwrite: bool = True
) -> Generator[int, None, None]:
    """Open a temporary file for writing, and give it its name when the block succeeds.

    `temporary` is its path, on the same file system; by default a hidden file beside `path`. `mode` is subject to the
    umask. Without `overwrite` a file that exists is a FileExistsError and stays.
    """
    if temporary is None:
        folder, name = os.path.split(str(path))
        temporary = os.path.join(folder, f".{name[:100]}.{os.getpid()}-{os.urandom(4).hex()}")
    with temporary_file(temporary, mode) as out:
        yield out
        if durable:
            os.fsync(out)
    place(temporary, path, overwrite)


@contextlib.contextmanager
def temporary_file(path: Path, mode: int) -> Generator[int, None, None]:
    """Create a file for writing, and remove it when the block fails."""
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


def place(temporary: Path, path: Path, overwrite: bool = True) -> None:
    """Give a complete file its name, or remove it when that fails."""
    try:
        if overwrite:
            os.replace(temporary, path)
        else:
            os.link(temporary, path)  # unlike rename, it fails when the name is taken
            os.unlink(temporary)
    except OSError:
        os.unlink(temporary)
        raise


def atomic_symlink(target: Path, path: Path, temporary: Optional[Path] = None) -> None:
    """Make `path` a symlink to `target`; readers, and others who do the same, always find one."""
    temporary = temporary or f"{path}.{os.urandom(8).hex()}"
    os.symlink(target, temporary)
    os.replace(temporary, path)


@contextlib.contextmanager
def socket_address(path: Path) -> Generator[str, None, None]:
    """Yield an address for the socket at `path`, through its open folder if the path is too long for one."""
    path = os.fspath(path)
    if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH or sys.platform != "linux":
        yield path
        return
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{os.path.basename(path)}"
    finally:
        os.close(folder)


# ── Locks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


class FileLock:
    """A lock on a file or folder, which is created and opened as `file`, but not locked yet.

    The lock ends when every process that has inherited the open file has closed it or died.
    """

    def __init__(self, path: Path, flags: int = os.O_RDWR | os.O_CREAT) -> None:
        self.file = os.open(path, flags | os.O_CLOEXEC, 0o600)

    def take(self, shared: bool = False) -> None:
        """Wait until the lock is ours; several processes may have a shared one."""
        fcntl.flock(self.file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)

    def try_take(self, shared: bool = False, seconds: float = 0.0) -> bool:
        """Return whether the lock is ours. Retry for some seconds if others take it briefly to check it."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(self.file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    return False
                time.sleep(0.01)

    def release(self) -> None:
        """Let others take the lock; the file stays open."""
        fcntl.flock(self.file, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self.file)

    def __enter__(self) -> FileLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock. The check takes a shared one, which other checks tolerate."""
    try:
        with FileLock(path, os.O_RDONLY) as lock:
            return not lock.try_take(shared=True)
    except FileNotFoundError:
        return False


# ── Bytes ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def write_all(out: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(out, rest) :]


def copy(source: int, out: int) -> None:
    """Copy the cheapest way that both file systems support: share the blocks, copy in the kernel, copy here."""
    with _where_supported():
        fcntl.ioctl(out, _FICLONE, source)
        return
    for kernel_copy in (_copy_range, _send):
        with _where_supported():
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
    # Without an offset both descriptors advance, so the next way continues where this one stopped.
    return os.sendfile(out, source, None, 128 * CHUNK)  # pyright: ignore[reportArgumentType]


@contextlib.contextmanager
def _where_supported() -> Generator[None, None, None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _NOT_SUPPORTED:
            raise


def sync(paths: Sequence[str]) -> None:
    """Sync files or directories of one file system to the disk."""
    if len(paths) >= _MANY and _sync_file_system(paths[0]):
        return
    for path in paths:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _sync_file_system(path: str) -> bool:
    """Call syncfs(2), which the os module lacks; return False where the C library lacks it too."""
    import ctypes  # noqa: PLC0415  # slow to load, and only worth it for hundreds of files

    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:
        return False
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return syncfs(fd) == 0
    finally:
        os.close(fd)
