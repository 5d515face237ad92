"""A file that is being fetched by blocks, in any order, by any number of threads and processes.

    NAME.part     the bytes at their offsets, with holes where blocks are missing
    NAME.map      64 bytes with the machine's boot_id id, then one byte per block, 1 when the block is present

A block is written before its byte is set. Both survive the death of the writer, because the kernel keeps the pages. A
power failure may write them to the disk in any order, so a map of another boot counts for nothing. NAME itself appears,
synced and renamed, when no block is missing.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import struct
import time
from collections.abc import Generator, Iterator

from footplate.disk import CHUNK, space
from footplate.errors import Unavailable

BLOCK = 4 * 1024 * 1024
_HEADER = 64
_OFD_SETLKW = 38  # fcntl has the name only since Python 3.9
_FLOCK = "hhqqi"  # struct flock of Linux on 64 bits: type, whence, start, length, pid


class Partial:
    """The partial file beside `path`, created if needed. Threads may share one."""

    def __init__(self, path: str, size: int, block: int = BLOCK) -> None:
        self.path, self.size, self.block = path, size, block
        self.count = -(-size // block)
        with space(os.path.dirname(path)):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            self._map = os.open(f"{path}.map", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self.file = os.open(f"{path}.part", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with self.lock_all():
            self._initialize()

    def _initialize(self) -> None:
        header = boot_id().ljust(_HEADER, b"\0")
        whole = _HEADER + self.count
        if os.pread(self._map, _HEADER, 0) != header or os.fstat(self._map).st_size != whole:
            with space(os.path.dirname(self.path)):
                os.ftruncate(self.file, 0)
                os.ftruncate(self.file, self.size)
                os.ftruncate(self._map, 0)
                os.ftruncate(self._map, whole)
                os.pwrite(self._map, header, 0)

    def __enter__(self) -> Partial:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        os.close(self.file)
        os.close(self._map)

    # ── blocks ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def has(self, index: int) -> bool:
        return os.pread(self._map, 1, _HEADER + index) == b"\1"

    def missing(self) -> list[int]:
        return [index for index, flag in enumerate(os.pread(self._map, self.count, _HEADER)) if flag != 1]

    def span(self, index: int) -> tuple[int, int]:
        """Return the offset and the length of a block."""
        start = index * self.block
        return start, min(self.block, self.size - start)

    def write(self, index: int, data: bytes) -> None:
        start, length = self.span(index)
        if len(data) != length:
            raise Unavailable(
                f"{len(data)} bytes arrived, but {length} were expected", "try again: complete blocks are kept"
            )
        rest = memoryview(data)
        with space(os.path.dirname(self.path)):
            while rest:
                written = os.pwrite(self.file, rest, start)
                rest, start = rest[written:], start + written
            os.pwrite(self._map, b"\1", _HEADER + index)

    def lock_block(self, index: int) -> contextlib.AbstractContextManager[None]:
        """Hold while a block is fetched: others that want it wait, and then find it. The lock dies with its owner."""
        return self._lock(_HEADER + index)

    def lock_all(self) -> contextlib.AbstractContextManager[None]:
        """Hold while the file is created or completed. It is independent of the blocks' locks."""
        return self._lock(0)

    @contextlib.contextmanager
    def _lock(self, byte: int) -> Generator[None, None, None]:
        # Locks of an open file, not of the process, and opened anew, so that threads exclude each other too.
        again = os.open(f"/proc/self/fd/{self._map}", os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.fcntl(again, _OFD_SETLKW, struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0))
            yield
        finally:
            os.close(again)

    # ── the end ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def chunks(self) -> Iterator[bytes]:
        start = 0
        while chunk := os.pread(self.file, CHUNK, start):
            start += len(chunk)
            yield chunk

    def finish(self, mode: int) -> None:
        """Rename the complete file, and remove the map. Raise Unavailable if it was discarded meanwhile."""
        with self.lock_all(), space(os.path.dirname(self.path)):
            if not self._is_in_place():
                if os.path.exists(self.path):  # another process was first
                    return
                raise Unavailable(f"{self.path} was discarded during the download", "try again")
            os.fchmod(self.file, mode)
            os.fsync(self.file)
            os.replace(f"{self.path}.part", self.path)
            os.unlink(f"{self.path}.map")

    def discard(self) -> None:
        with self.lock_all():
            if self._is_in_place():
                os.unlink(f"{self.path}.map")
                os.unlink(f"{self.path}.part")

    def _is_in_place(self) -> bool:
        """Return whether the names still belong to the files open here, and not to a later attempt."""
        try:
            return os.path.samestat(os.stat(f"{self.path}.map"), os.fstat(self._map))
        except FileNotFoundError:
            return False


@functools.lru_cache(maxsize=1)
def boot_id() -> bytes:
    """Return an id of the current boot of the machine."""
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            return file.read().strip()
    except OSError:  # no such file here: the boot time to the minute serves as well
        return b"%d" % ((time.time() - time.monotonic()) // 60)
