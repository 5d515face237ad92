"""Find out which files of a directory are complete, from the kernel's events.

A file that was moved to its place is complete at once: only a living process that has written it moves it. A file that
was written in its place is complete when its writer has closed it and goes on for a moment: the kernel also closes the
files of a process that is killed, and Python those of a script that fails in the middle of a write.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING, Callable, NamedTuple

from footplate.lazy import Deferred

if TYPE_CHECKING:
    from footplate.node.delivery import file_events
else:
    file_events = Deferred("footplate.node.delivery.file_events")  # needs ctypes, whose import takes milliseconds

SETTLED_SECONDS = 0.5
"""Seconds for which the writer of a closed file must go on, and without events after which a directory is quiet."""


class Stamp(NamedTuple):
    """The signs by which a changed file is recognized."""

    size: int
    modified: int  # nanoseconds
    device: int
    inode: int

    @classmethod
    def of(cls, path: str) -> Stamp | None:
        try:
            info = os.stat(path)
        except OSError:
            return None
        return cls(info.st_size, info.st_mtime_ns, info.st_dev, info.st_ino)


class Completion:
    """Complete files below `name`, a directory that may come and go in the directory `inside`, by real path.

    `sees_writers` returns whether a look at all processes that write there finds every file that they have open.
    """

    def __init__(
        self, name: str, inside: str, sees_writers: Callable[[], bool], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._inside = os.path.realpath(inside)
        self._root = os.path.join(self._inside, name)
        self._sees_writers, self._clock = sees_writers, clock
        self._events: file_events.FileEvents | None = None
        self._moved: dict[str, Stamp] = {}
        self._closed: dict[str, tuple[Stamp, float]] = {}
        self._latest = float("-inf")

    def begin(self) -> None:
        """Watch from now on. Raise OSError where the kernel reports no events."""
        self._events = file_events.FileEvents()
        try:
            self._events.watch(self._inside, writes=False)
            self._watch_tree(self._root)
        except OSError:
            self.close()
            raise

    @property
    def is_watching(self) -> bool:
        return self._events is not None

    def wait(self, seconds: float) -> None:
        if self._events is not None:
            self._events.wait(seconds)

    def wake(self) -> None:
        if self._events is not None:
            self._events.wake()

    def close(self) -> None:
        if self._events is not None:
            self._events.close()
            self._events = None

    def note_events(self) -> bool:
        """Take note of what has happened since the last call; return whether anything has."""
        before = self._latest
        try:
            for event in self._events.read() if self._events is not None else ():
                if os.path.dirname(event.path) != self._inside or event.path == self._root:
                    self._note(event)
                    self._latest = self._clock()  # last: what is quiet by this time is complete by its own
        except (OSError, file_events.EventsLost):  # of files that nobody knows any more, the looks decide
            self._moved.clear()
            self._closed.clear()
            self._latest = self._clock()
        return self._latest != before

    def watch_directories(self, files: set[str]) -> None:
        """Watch the directories of these files too: some are reached by symlinks. Forget what else was noted."""
        if self._events is not None:
            for directory in {os.path.dirname(path) for path in files} - self._events.watched():
                with contextlib.suppress(OSError):  # no watches are left
                    self._events.watch(directory)
            self._moved = {path: stamp for path, stamp in self._moved.items() if path in files}
            self._closed = {path: closed for path, closed in self._closed.items() if path in files}

    def was_moved(self, path: str, stamp: Stamp) -> bool:
        """Whether this version of a file was moved to its place, and nobody has written to it since."""
        return self._moved.get(path) == stamp

    def is_complete(self, path: str, stamp: Stamp) -> bool:
        """Whether this version is complete, unless a process still has it open for writing."""
        closed_stamp, since = self._closed.get(path, (None, 0.0))
        return self.was_moved(path, stamp) or (closed_stamp == stamp and self._clock() - since >= SETTLED_SECONDS)

    @property
    def is_quiet(self) -> bool:
        """Whether nothing has happened for so long that files which belong together have all been written."""
        return self._events is None or self._clock() - self._latest >= SETTLED_SECONDS

    def _note(self, event: file_events.FileEvent) -> None:
        if event.is_closed:
            self._moved.pop(event.path, None)  # open until now, so it was moved before its last byte was written
            self._note_closed(event.path)
        elif event.is_directory or event.path == self._root:
            for path in self._watch_tree(event.path):
                if event.is_moved:
                    self._note_moved(path)
                elif self._sees_writers():  # it was there before its directory was watched: who has it open is found
                    self._note_closed(path)
        elif event.is_moved:
            self._note_moved(event.path)

    def _note_moved(self, path: str) -> None:
        stamp = Stamp.of(path)
        if stamp is not None:
            self._moved[path] = stamp

    def _note_closed(self, path: str) -> None:
        stamp = Stamp.of(path)
        if stamp is not None:
            self._closed[path] = stamp, self._clock()

    def _watch_tree(self, directory: str) -> list[str]:
        """Watch a directory and those below it; return the files that are there."""
        directory = os.path.realpath(directory)
        if self._events is None or not directory.startswith(self._inside + os.sep):
            return []
        self._events.watch(directory)
        files: list[str] = []
        with contextlib.suppress(OSError), os.scandir(directory) as entries:  # gone, or not a directory
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    files += self._watch_tree(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    files.append(entry.path)
        return files
