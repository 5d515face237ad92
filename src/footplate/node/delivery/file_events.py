"""Events of files below a directory, in the order in which they happened: inotify(7), which the os module lacks.

The kernel reports what processes of this machine do, also in containers. It reports nothing that other machines do on a
network file system.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import struct
from collections.abc import Iterator
from typing import NamedTuple

_CLOSE_WRITE, _MOVED_TO, _CREATE, _OVERFLOW, _IGNORED = 0x8, 0x80, 0x100, 0x4000, 0x8000
_ONLY_DIRECTORIES, _IS_DIRECTORY = 0x01000000, 0x40000000
_ENTRIES = _CREATE | _MOVED_TO | _ONLY_DIRECTORIES
_HEADER = struct.Struct("iIII")
_READ_BYTES = 64 << 10  # one read returns whole events; the longest has 272 bytes


class FileEvent(NamedTuple):
    """An entry of a watched directory. A path that was neither moved nor closed is new."""

    path: str
    is_moved: bool
    is_closed: bool  # by a process that had it open for writing
    is_directory: bool


class EventsLost(Exception):
    """Raised when there were more events than the kernel keeps."""


class FileEvents:
    """Events of entries of the watched directories. Raise OSError where the kernel has no inotify, or no more of it."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._file = _check_result(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        self._directories: dict[int, str] = {}  # by the kernel's number of the watch
        self._awake, self._waker = os.pipe()

    def watch(self, directory: str, writes: bool = True) -> None:
        """Report entries that are new in this directory or moved to it and, with `writes`, files that are closed.

        A directory that was watched under another name has its new one from now on. One that is gone is no error.
        """
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            mask = _ENTRIES | (_CLOSE_WRITE if writes else 0)
            number = self._libc.inotify_add_watch(self._file, os.fsencode(directory), ctypes.c_uint32(mask))
            self._directories[_check_result(number)] = directory

    def watched(self) -> set[str]:
        return set(self._directories.values())

    def wait(self, seconds: float) -> None:
        """Wait until there is an event, or `wake` is called."""
        events = select.poll()  # unlike `select.select`, it takes descriptors beyond 1023
        for file in (self._file, self._awake):
            events.register(file, select.POLLIN)
        events.poll(seconds * 1000)

    def wake(self) -> None:
        """End all waits, from another thread."""
        os.write(self._waker, b".")

    def read(self) -> Iterator[FileEvent]:
        """Yield the events since the last call. Raise EventsLost if some are missing."""
        while True:
            try:
                data = os.read(self._file, _READ_BYTES)
            except BlockingIOError:
                return
            while data:
                number, mask, _, length = _HEADER.unpack_from(data)
                name, data = data[_HEADER.size : _HEADER.size + length], data[_HEADER.size + length :]
                if mask & _OVERFLOW:
                    raise EventsLost
                if mask & _IGNORED:
                    self._directories.pop(number, None)
                elif number in self._directories:
                    # Found only now: whoever took the event before may have watched a directory under its new name.
                    path = os.path.join(self._directories[number], os.fsdecode(name.rstrip(b"\0")))
                    yield FileEvent(path, *(bool(mask & bit) for bit in (_MOVED_TO, _CLOSE_WRITE, _IS_DIRECTORY)))

    def close(self) -> None:
        for file in (self._file, self._awake, self._waker):
            os.close(file)


def _check_result(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
