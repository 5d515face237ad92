"""The metric journal: what `run.log` writes and what everybody else reads. The format is in ARCHITECTURE.md.

Writing is a store into mapped memory, so a call that has returned outlives the death of its process. Three rules make
that safe without a lock on the fast path:

* A slot's mark is stored last, by the same call that stores the rest, so a finished slot is a whole one.
* Slot numbers come from one iterator. Since Python 3.10 neither a signal handler nor another thread can come between
  taking a number and filling its slot, because both wait for a call to end and there is none in between.
* Disk space is reserved before it is mapped: a full disk is an OSError of the call that needed more, never a SIGBUS.

No file stays open between calls: programs that turn into daemons close descriptors they do not know.
"""

from __future__ import annotations

import errno
import itertools
import json
import mmap
import os
import threading
import time
import weakref
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple

from footplate import environ
from footplate.job.journal_format import (
    ARTIFACT,
    FLOAT,
    FLOAT_SLOT,
    INT,
    INT_SLOT,
    LIST,
    MARK,
    NO_STEP,
    ROW,
    SCALAR,
    SERIES,
    SLOT,
    TABLE,
    TEXT_SLOT,
    Decoder,
    MetricColumn,
    Point,
    end_of_slots,
    everything,
    finished_prefix,
    read_text,
    writers,
)

__all__ = ["Decoder", "Journal", "MetricColumn", "Point", "everything", "finished_prefix", "read_text", "writers"]

_FIRST_SEGMENT = 64 * 1024
_LAST_SEGMENT = 2 * 1024 * 1024
_TEXT_LIMIT = 0xFFFFFFFF

Log = Callable[..., None]


class Journal:
    """The journal of one run, written by this process. Its files are made by the first call that logs something.

    Calls may come from any thread. A forked child goes on with a writer of its own. `log` raises OSError when the disk
    is full, TypeError for what no slot can hold and ValueError after `close`.
    """

    log: Log
    """`log(name, value, step=None, description="")`, bound to the current segment and exchanged when that is full."""

    def __init__(self, folder: str, writer_name: Optional[str] = None) -> None:
        self.folder = os.path.abspath(folder)
        self._prefix = writer_name or "rank_" + os.environ.get(environ.RANK, "0")
        self.writer = writer_name or _unique(self._prefix)
        self._lock = threading.RLock()
        self._current: Optional[_Writer] = None
        self._closed = False
        self.log = self._log_first
        _journals.add(self)

    def log_list(self, name: str, value: Sequence[Any], description: str = "") -> None:
        self._log_text(name, list(value), LIST, None, description)

    def log_row(self, name: str, row: Mapping[str, Any], description: str = "") -> None:
        self._log_text(name, dict(row), ROW, None, description)

    def log_table(self, name: str, table: Mapping[str, Sequence[Any]], description: str = "") -> None:
        self._log_text(name, dict(table), TABLE, None, description)

    def log_artifact(self, name: str, path: str, type: str, description: str = "") -> None:
        """A metric whose value is a file of the run: `type` says which kind of picture or chart it is."""
        self._log_text(name, {"path": path, "type": type}, ARTIFACT, None, description)

    def close(self) -> None:
        """Cut the file to its last slot. Logging ends here; closing again does nothing."""
        with self._lock:
            self._closed = True
            self.log = self._log_first
            writer, self._current = self._current, None
            if writer is not None:
                writer.finish()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ── the slow paths ────────────────────────────────────────────────────────────────────────────────────────────────

    def _log_first(self, name: str, value: Any, step: Optional[float] = None, description: str = "") -> None:
        """What `log` is while there is no writer: at the start, after a fork and after `close`."""
        self._writer()
        self.log(name, value, step, description)

    def _log_other(self, name: str, value: Any, step: Optional[float], description: str) -> None:
        """Whatever is not exactly a float."""
        if isinstance(value, float):
            self.log(name, float(value), step, description)
        elif value is None or isinstance(value, (bool, str)):
            self._log_text(name, value, SCALAR, step, description)
        elif isinstance(value, int):
            self._log_int(name, int(value), step, description)
        else:
            self.log(name, _plain(value), step, description)

    def _log_int(self, name: str, value: int, step: Optional[float], description: str) -> None:
        if not -(2**63) <= value < 2**63:
            return self._log_text(name, value, SCALAR, step, description)
        at = NO_STEP if step is None else float(step)
        writer, series = self._series(name, description)
        return writer.put(INT_SLOT.pack_into, (value, time.time(), at, series, INT, MARK))

    def _log_text(self, name: str, value: Any, kind: int, step: Optional[float], description: str) -> None:
        at, payload = NO_STEP if step is None else float(step), _to_json(value)
        while True:
            writer, series = self._series(name, description)
            try:
                offset, size = writer.write_text(payload)
            except _TextFull:
                self._replace(writer)
                continue
            return writer.put(TEXT_SLOT.pack_into, (offset, size, time.time(), at, series, kind, MARK))

    def _series(self, name: str, description: str) -> Tuple[_Writer, int]:
        """The writer to use now and the number of the series in it."""
        while True:
            writer = self._writer()
            try:
                return writer, writer.ids.get(name) or writer.define(name, description)
            except _TextFull:
                self._replace(writer)

    def _writer(self) -> _Writer:
        writer = self._current
        if writer is not None:
            return writer
        with self._lock:
            if self._closed:
                raise ValueError(f"the journal {self.writer} is closed")
            if self._current is None:
                writer = _Writer(self, self.writer)
                log = writer.bind()
                # In one statement without a call: a signal that raises between the two would leave half a change.
                self._current, self.log = writer, log
            return self._current

    def _replace(self, full: _Writer) -> None:
        """Go on in new files. Calls that still hold the old writer finish in the old ones."""
        with self._lock:
            if self._current is full:
                self._current, self.log, self.writer = None, self._log_first, _unique(self._prefix)

    def _turned(self, writer: _Writer) -> None:
        """The writer has a new segment."""
        if self._current is writer:
            self.log = writer.bind()

    def _after_fork(self) -> None:
        # The lock may have been held by a thread that does not exist here; the mapped memory is the parent's.
        self._lock = threading.RLock()
        if self._current is not None:
            self._current.abandon()
        self._current, self.log, self.writer = None, self._log_first, _unique(self._prefix)


class _Segment:
    """A stretch of the slots file in memory. `end` is set to 0 to turn away whoever still holds it."""

    __slots__ = ("buffer", "end", "offsets")

    def __init__(self, buffer: mmap.mmap, size: int) -> None:
        self.buffer = buffer
        self.end = size
        self.offsets = itertools.count(0, SLOT)


class _Writer:
    """One pair of files and the series defined in it."""

    def __init__(self, journal: Journal, name: str) -> None:
        self._journal = journal
        self._lock = threading.RLock()
        os.makedirs(journal.folder, exist_ok=True)
        self.slots = os.path.join(journal.folder, name + ".slots")
        self.text = os.path.join(journal.folder, name + ".text")
        self.ids: Dict[str, int] = {}
        self._start = 0
        self._size = _FIRST_SEGMENT
        os.close(os.open(self.slots, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644))
        try:
            self._segment = self._map()
        except OSError:
            os.unlink(self.slots)  # so that the same name can be tried again when there is space
            raise

    def bind(self) -> Log:
        return _bind(self._journal, self, self._segment)

    def define(self, name: Any, description: str) -> int:
        if not isinstance(name, str):
            raise TypeError(f"a metric's name is a string, not {name!r}")
        with self._lock:
            if name not in self.ids:
                series = len(self.ids) + 1
                offset, size = self.write_text(_to_json({"name": name, "description": description}))
                self.put(TEXT_SLOT.pack_into, (offset, size, time.time(), NO_STEP, series, SERIES, MARK))
                self.ids[name] = series
            return self.ids[name]

    def put(self, pack: Callable[..., None], fields: Tuple[Any, ...]) -> None:
        """Fill the next slot, on whatever segment it lies."""
        while True:
            segment = self._segment
            for offset in segment.offsets:
                if offset < segment.end:
                    pack(segment.buffer, offset, *fields)
                    return
                break
            self.extend(segment)

    def write_text(self, payload: bytes) -> Tuple[int, int]:
        """Append one line; where it lies and how long it is."""
        if len(payload) > _TEXT_LIMIT // 2:  # half, so that a new file has room for it and for its definition
            raise OSError(errno.EFBIG, f"a value of {len(payload)} bytes is too big for the journal", self.text)
        with self._lock:
            fd = os.open(self.text, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC, 0o644)
            try:
                # Asked of the file and not remembered: a write that failed half-way has left bytes behind.
                start = os.lseek(fd, 0, os.SEEK_END)
                if start + len(payload) > _TEXT_LIMIT:
                    raise _TextFull
                rest = memoryview(payload + b"\n")
                while rest:
                    rest = rest[os.write(fd, rest) :]
            finally:
                os.close(fd)
            return start, len(payload)

    def extend(self, full: _Segment) -> None:
        """Make room behind `full`, unless another thread has done so; ValueError when there is no going on here."""
        with self._lock:
            if full.end == 0:
                raise ValueError("the journal was closed while this value was logged")
            if self._segment is full:
                self._grow()
            # Also when the segment was there already: who comes here holds a function that is out of date.
            self._journal._turned(self)  # pyright: ignore[reportPrivateUsage]

    def _grow(self) -> None:
        start, size = self._start, self._size
        self._start, self._size = start + size, min(2 * size, _LAST_SEGMENT)
        try:
            self._segment = self._map()
        except BaseException:
            self._start, self._size = start, size
            raise

    def abandon(self) -> None:
        """Write no more, and leave the file as it is."""
        self._segment.end = 0
        self._segment.buffer.close()

    def finish(self) -> None:
        with self._lock:
            self.abandon()
            with open(self.slots, "r+b", buffering=0) as file:
                file.truncate(end_of_slots(file.fileno(), 0))

    def _map(self) -> _Segment:
        fd = os.open(self.slots, os.O_RDWR | os.O_CLOEXEC)
        try:
            _reserve(fd, self._start, self._size)
            return _Segment(mmap.mmap(fd, self._size, offset=self._start), self._size)
        finally:
            os.close(fd)


def _bind(journal: Journal, writer: _Writer, segment: _Segment) -> Log:
    """The fast path: `log` for one segment, with everything it needs in its own cells."""
    ids, offsets, buffer, pack, now = writer.ids, segment.offsets, segment.buffer, FLOAT_SLOT.pack_into, time.time

    def log(name: str, value: Any, step: Optional[float] = None, description: str = "") -> None:
        if type(value) is not float:
            return journal._log_other(name, value, step, description)  # pyright: ignore[reportPrivateUsage]
        try:
            series = ids[name]
        except KeyError:
            writer_now, series = journal._series(name, description)  # pyright: ignore[reportPrivateUsage]
            if writer_now is not writer:  # this function was kept beyond its time
                return journal.log(name, value, step, description)
        at = NO_STEP if step is None else float(step)
        when = now()
        for offset in offsets:
            if offset < segment.end:
                pack(buffer, offset, value, when, at, series, FLOAT, MARK)
                return None
            break
        if segment.end:
            writer.extend(segment)
        return journal.log(name, value, step, description)

    return log


class _TextFull(Exception):
    """The text file has no more room for offsets of 32 bits."""


def _unique(prefix: str) -> str:
    return f"{prefix}_{os.getpid()}_{os.urandom(4).hex()}"


def _plain(value: Any) -> Any:
    """The Python number inside a numpy scalar or a tensor of one element."""
    item = getattr(value, "item", None)
    if callable(item):
        plain: Any = item()
        if plain is None or isinstance(plain, (bool, int, float, str)):
            return plain
    raise TypeError(
        f"a metric's value is a number, a string, a bool or None, not {type(value).__name__}: {value!r:.200}"
    )


def _to_json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), default=_plain).encode("ascii")


def _reserve(fd: int, start: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, start, size)
        return
    rest = memoryview(bytes(size))
    while rest:
        rest = rest[os.pwrite(fd, rest, start + size - len(rest)) :]


_journals: weakref.WeakSet[Journal] = weakref.WeakSet()


def _after_fork() -> None:
    for journal in list(_journals):
        journal._after_fork()  # pyright: ignore[reportPrivateUsage]


os.register_at_fork(after_in_child=_after_fork)
