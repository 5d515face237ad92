"""The writer of metric journals, behind `run.log`. The format is in docs/internals.

Writing is a store into mapped memory, so a value survives the death of its process once the call has returned. Three
rules make that safe without a lock on the fast path:

* A slot's mark is stored last, by the same call that stores the rest, so a finished slot is complete.
* Slot numbers come from one iterator. Since Python 3.10 neither a signal handler nor another thread can run between
  taking a number and filling its slot, because both wait for a call to end and there is no call in between.
* Disk space is reserved before it is mapped: a full disk is an OSError of the call that needed more, never a SIGBUS.

No file stays open between calls, because programs that become daemons close all descriptors.
"""

from __future__ import annotations

import errno
import itertools
import mmap
import os
import time
from _thread import RLock  # what `threading` itself imports it from, without the rest
from _weakrefset import WeakSet  # as with `weakref`

from footplate import environ
from footplate.job.slots import (
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
    end_of_slots,
)

TYPE_CHECKING = False  # not typing's own: see `slots`
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple

    Log = Callable[..., None]

_FIRST_SEGMENT = 64 * 1024
_LAST_SEGMENT = 2 * 1024 * 1024
_TEXT_LIMIT = 0xFFFFFFFF


class Journal:
    """The journal of one run, written by this process. The first call that logs something creates its files.

    Any thread may call it. A forked child continues with a writer of its own. `log` raises OSError when the disk is
    full, TypeError for a value that no slot can hold, and ValueError after `close`.
    """

    log: Log
    """`log(name, value, step=None, description="")`, bound to the current segment and replaced when that is full."""

    def __init__(self, folder: str, writer_name: Optional[str] = None) -> None:
        self.folder = os.path.abspath(folder)
        self._prefix = writer_name or "rank_" + os.environ.get(environ.RANK, "0") + _attempt_suffix()
        self.writer = writer_name or _unique(self._prefix)
        self._lock = RLock()
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
        """Log a metric whose value is a file of the run; `type` is the kind of picture or chart."""
        self._log_text(name, {"path": path, "type": type}, ARTIFACT, None, description)

    def close(self) -> None:
        """Truncate the file to its last slot. Logging ends here; closing again does nothing."""
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
        """Stand in for `log` while there is no writer: at the start, after a fork and after `close`."""
        self._writer()
        self.log(name, value, step, description)

    def log_other(self, name: str, value: Any, step: Optional[float], description: str) -> None:
        """Log a value that is not exactly a float."""
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
        writer, series = self.series_of(name, description)
        return writer.put(INT_SLOT.pack_into, (value, time.time(), at, series, INT, MARK))

    def _log_text(self, name: str, value: Any, kind: int, step: Optional[float], description: str) -> None:
        at = NO_STEP if step is None else float(step)
        payload = _to_json(value)
        while True:
            writer, series = self.series_of(name, description)
            try:
                offset, size = writer.write_text(payload)
            except _TextFull:
                self._replace(writer)
                continue
            return writer.put(TEXT_SLOT.pack_into, (offset, size, time.time(), at, series, kind, MARK))

    def series_of(self, name: str, description: str) -> Tuple[_Writer, int]:
        """Return the current writer and the number of the series in it."""
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
                # One statement without a call: a signal that raises between two would leave half a change.
                self._current, self.log = writer, log
            return self._current

    def _replace(self, full: _Writer) -> None:
        """Continue in new files. Calls that still hold the old writer finish in the old ones."""
        with self._lock:
            if self._current is full:
                self._current = None
                self.log = self._log_first
                self.writer = _unique(self._prefix)

    def follow(self, writer: _Writer) -> None:
        """Use the writer's new segment."""
        if self._current is writer:
            self.log = writer.bind()

    def reset_after_fork(self) -> None:
        # A thread that does not exist in the child may have held the lock; the mapped memory belongs to the parent.
        self._lock = RLock()
        if self._current is not None:
            self._current.abandon()
        self._current = None
        self.log = self._log_first
        self.writer = _unique(self._prefix)


class _Segment:
    """A part of the slots file in memory. Setting `end` to 0 turns away callers that still hold it."""

    __slots__ = ("buffer", "end", "offsets")

    def __init__(self, buffer: mmap.mmap, size: int) -> None:
        self.buffer = buffer
        self.end = size
        self.offsets = itertools.count(0, SLOT)


class _Writer:
    """One pair of files and the series defined in it."""

    def __init__(self, journal: Journal, name: str) -> None:
        self._journal = journal
        self._lock = RLock()
        os.makedirs(journal.folder, exist_ok=True)
        self.slots = os.path.join(journal.folder, name + ".slots")
        self.text = os.path.join(journal.folder, name + ".text")
        self.ids: Dict[str, int] = {}
        self._start: int = 0
        self._size: int = _FIRST_SEGMENT
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
            raise TypeError(f"the name of a metric must be a string, not {name!r}")
        with self._lock:
            if name not in self.ids:
                series = len(self.ids) + 1
                offset, size = self.write_text(definition(name, description))
                self.put(TEXT_SLOT.pack_into, (offset, size, time.time(), NO_STEP, series, SERIES, MARK))
                self.ids[name] = series
            return self.ids[name]

    def put(self, pack: Callable[..., None], fields: Tuple[Any, ...]) -> None:
        """Fill the next slot, in whichever segment it is."""
        while True:
            segment = self._segment
            for offset in segment.offsets:
                if offset < segment.end:
                    pack(segment.buffer, offset, *fields)
                    return
                break
            self.extend(segment)

    def write_text(self, payload: bytes) -> Tuple[int, int]:
        """Append one line; return its offset and length."""
        if len(payload) > _TEXT_LIMIT // 2:  # half, so that a new file has room for it and for its definition
            raise OSError(errno.EFBIG, f"a value of {len(payload)} bytes is too large for the journal", self.text)
        with self._lock:
            fd = os.open(self.text, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC, 0o644)
            try:
                # Read from the file and not remembered: a failed write may have left bytes behind.
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
        """Make room after `full`, unless another thread has done so; raise ValueError after `close`."""
        with self._lock:
            if full.end == 0:
                raise ValueError("the journal was closed while this value was logged")
            if self._segment is full:
                self._grow()
            # Also when the segment existed already: a caller that gets here holds an outdated function.
            self._journal.follow(self)

    def _grow(self) -> None:
        start, size = self._start, self._size
        self._start = start + size
        self._size = min(2 * size, _LAST_SEGMENT)
        try:
            self._segment = self._map()
        except BaseException:
            self._start, self._size = start, size
            raise

    def abandon(self) -> None:
        """Stop writing, and leave the file as it is."""
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
    """Build the fast path: `log` for one segment, with everything it needs in its own cells."""
    ids, offsets, buffer, pack, now = writer.ids, segment.offsets, segment.buffer, FLOAT_SLOT.pack_into, time.time

    def log(name: str, value: Any, step: Optional[float] = None, description: str = "") -> None:
        if type(value) is not float:
            return journal.log_other(name, value, step, description)
        try:
            series = ids[name]
        except KeyError:
            writer_now, series = journal.series_of(name, description)
            if writer_now is not writer:  # a caller has kept this function after its segment was replaced
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
    """The text file has no room left: offsets have 32 bits."""


def _attempt_suffix() -> str:
    """Return the part of a writer's name that names an attempt after the first (`journal_format.attempt_of`)."""
    attempt = os.environ.get(environ.ATTEMPT, "1")
    return "" if attempt == "1" else f"_attempt_{attempt}"


def _unique(prefix: str) -> str:
    return f"{prefix}_{os.getpid()}_{os.urandom(4).hex()}"


def _plain(value: Any) -> Any:
    """Return the Python number inside a numpy scalar or a tensor with one element."""
    item = getattr(value, "item", None)
    if callable(item):
        plain: Any = item()
        if plain is None or isinstance(plain, (bool, int, float, str)):
            return plain
    raise TypeError(
        f"the value of a metric must be a number, a string, a bool or None, not {type(value).__name__}: {value!r:.200}"
    )


def definition(name: str, description: str) -> bytes:
    """Return the text that the slot of a new series points to."""
    if _is_plain(name) and _is_plain(description):
        return f'{{"name":"{name}","description":"{description}"}}'.encode("ascii")
    return _to_json({"name": name, "description": description})


def _is_plain(text: Any) -> bool:
    """Whether a text stands in JSON as it is."""
    return type(text) is str and text.isascii() and text.isprintable() and '"' not in text and "\\" not in text


def _to_json(value: Any) -> bytes:
    import json  # noqa: PLC0415  # 1.5 ms that a script which only logs numbers saves

    return json.dumps(value, separators=(",", ":"), default=_plain).encode("ascii")


def _reserve(fd: int, start: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, start, size)
        return
    rest = memoryview(bytes(size))
    while rest:
        rest = rest[os.pwrite(fd, rest, start + size - len(rest)) :]


_journals: WeakSet[Journal] = WeakSet()


def _after_fork() -> None:
    for journal in list(_journals):
        journal.reset_after_fork()


os.register_at_fork(after_in_child=_after_fork)
