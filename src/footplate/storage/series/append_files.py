"""Files that only grow, written by byte offset.

The size of the file is the only record of how much has arrived. A repeated piece is skipped and a gap is refused, so an
interrupted sender continues from the size in the answer. A process that is killed during a write leaves a shorter
piece, never a wrong one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Hashable
from contextlib import contextmanager
from pathlib import Path

from footplate.disk import atomic_write
from footplate.errors import Conflict
from footplate.storage.database_errors import translated

_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW


class KeyedLocks:
    """A lock for each key in use, created when needed and removed when nobody holds it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[Hashable, tuple[threading.Lock, int]] = {}

    @contextmanager
    def hold(self, key: Hashable) -> Generator[None, None, None]:
        with self._guard:
            lock, users = self._locks.get(key, (threading.Lock(), 0))
            self._locks[key] = (lock, users + 1)
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, users = self._locks.pop(key)
                if users > 1:
                    self._locks[key] = (lock, users - 1)


def append(path: Path, offset: int, data: bytes, *, same: bool = False) -> int:
    """Write `data` at `offset` and return the size after it. `same`: refuse a repeated piece that differs.

    The caller holds the lock of this file.
    """
    with translated():
        file = _open(path)
        try:
            size = os.fstat(file).st_size
            if offset > size:
                raise _gap(path, offset, size)
            skipped = min(size - offset, len(data))
            if same and skipped and os.pread(file, skipped, offset) != data[:skipped]:
                raise Conflict(
                    f"{path.name} differs from what was sent before at byte {offset}", "use a new writer", size=size
                )
            return _write_or_undo(file, size, memoryview(data)[skipped:])
        finally:
            os.close(file)


def replace(path: Path, temporary: Path, offset: int, data: bytes) -> int:
    """Replace everything after the first `offset` bytes with `data`, atomically."""
    with translated():
        before = size_of(path)
        if offset > before:
            raise _gap(path, offset, before)
        head = read(path, 0, offset)
        temporary.parent.mkdir(parents=True, exist_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, head + data, durable=False, mode=0o600, temporary=temporary)
        return len(head) + len(data)


def read(path: Path, offset: int, limit: int) -> bytes:
    """Return at most `limit` bytes from `offset`; nothing when the file does not exist yet."""
    with translated():
        try:
            file = os.open(path, os.O_RDONLY | _FLAGS)
        except (FileNotFoundError, NotADirectoryError):
            return b""
        try:
            pieces: list[bytes] = []
            while limit > 0 and (piece := os.pread(file, limit, offset)):
                pieces.append(piece)
                offset, limit = offset + len(piece), limit - len(piece)
            return b"".join(pieces)
        finally:
            os.close(file)


def size_of(path: Path) -> int:
    return size_and_time_of(path)[0]


def size_and_time_of(path: Path) -> tuple[int, float]:
    """Return the size of a file and the time of its last change; zeros when it does not exist yet."""
    try:
        about = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return 0, 0.0
    return about.st_size, about.st_mtime


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | _FLAGS
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, flags, 0o600)
    except FileExistsError as error:  # the error of some systems for "is a directory" with O_CREAT
        raise IsADirectoryError(21, "Is a directory", str(path)) from error


def _write_or_undo(file: int, size: int, data: memoryview) -> int:
    """Append all of `data` or nothing: undo a write that a full disk cut short."""
    at = size
    try:
        while data:
            written = os.pwrite(file, data, at)
            at, data = at + written, data[written:]
    except OSError:
        os.ftruncate(file, size)
        raise
    return at


def _gap(path: Path, offset: int, size: int) -> Conflict:
    return Conflict(
        f"{path.name} has {size} bytes, a piece at {offset} would leave a gap", f"send from {size}", size=size
    )
