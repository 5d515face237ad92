"""Ship growing files to the server by byte offset: the one implementation, used by the node agent and by the SDK.

The server skips bytes that it has and refuses a gap, so a repeated or interrupted request changes nothing. A log that
was written anew is sent again from the start. Of a metric journal, text is sent before the slots that point to it.

`node.delivery` and `sdk.runs.shipping` decide which files to ship, and when.
"""

from __future__ import annotations

import os
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Protocol, Tuple

from footplate.domain.orders import CUT_MARK
from footplate.errors import Conflict
from footplate.job import journal_format

PIECE = 1 << 20
"""Bytes in one request, at most."""


class GrowingFiles(Protocol):
    """The server's growing files. Each call returns the size of the file after it."""

    def append_log(self, run: str, path: str, offset: int, data: bytes, replace: bool) -> int:
        """Write `data` at `offset` of a log; `replace` drops everything behind it."""
        ...

    def append_journal(self, run: str, writer: str, part: str, offset: int, data: bytes, system: bool) -> int:
        """Write `data` at `offset` of a journal; `system` marks samples of the machine."""
        ...


def agree_on_offset(error: Conflict, ours: int) -> int:
    """Return the smaller size that a server reports which has lost its last writes; raise any other conflict."""
    size = error.details.get("size")
    if not isinstance(size, int) or size >= ours:
        raise error
    return size


_TAIL = 256


class _LogState:
    """How much of a file the server has, and how the file looked at that time."""

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.file: Optional[Tuple[int, int]] = None  # device and inode
        self.seen: Optional[Tuple[int, int]] = None  # size and time of the last change
        self.tail = b""  # the last bytes shipped: if they differ now, the file was written anew

    def was_replaced(self, info: os.stat_result, file: int) -> bool:
        if self.file is None and os.pread(file, len(CUT_MARK), 0) == CUT_MARK:
            return True  # the server may have it from before it was cut
        if self.file is not None and self.file != (info.st_dev, info.st_ino):
            return True
        if info.st_size < self.offset:
            return True
        return bool(self.tail) and os.pread(file, len(self.tail), self.offset - len(self.tail)) != self.tail


class LogPiece(NamedTuple):
    """A piece of a log to be sent, and how the file looked when it was read."""

    name: str
    log: _LogState
    start: int  # in the file
    offset: int  # in the server's log
    data: bytes
    replace: bool
    file: Tuple[int, int]
    seen: Tuple[int, int]


class LogShipper:
    """Ships files as logs of one run and remembers how much of each the server has.

    `first_size(name)` is the size of a log at the server when the file is first seen. `bases` holds the sizes that
    the server's logs had before these files began: a restarted run appends to the logs of its earlier attempts.
    """

    def __init__(
        self,
        server: GrowingFiles,
        run: str,
        first_size: Callable[[str], int],
        bases: Optional[Mapping[str, int]] = None,
    ) -> None:
        self._server = server
        self._run = run
        self._first_size = first_size
        self._bases = bases or {}
        self._logs: Dict[str, _LogState] = {}

    def ship(self, name: str, path: str) -> bool:
        """Send at most one piece, so that no file starves another; return whether there may be more."""
        piece = self.next_piece(name, path)
        if piece is None:
            return False
        try:
            self._server.append_log(self._run, name, piece.offset, piece.data, piece.replace)
        except Conflict as error:
            log = piece.log
            log.offset = max(0, agree_on_offset(error, piece.offset) - self._base(name))
            log.tail = b""
            log.file = piece.file
            log.seen = None
        else:
            self.accept(piece)
        return True

    def next_piece(self, name: str, path: str, limit: int = PIECE) -> Optional[LogPiece]:
        """Return the next piece of the file; None if the server has all of it."""
        info = os.stat(path)
        log = self._logs.get(name)
        if log is None:
            log = self._logs[name] = _LogState(max(0, self._first_size(name) - self._base(name)))
        seen = (info.st_size, info.st_mtime_ns)
        if seen == log.seen and log.offset == info.st_size:
            return None
        with open(path, "rb") as file:
            replaced = log.was_replaced(info, file.fileno())
            start = 0 if replaced else log.offset
            data = os.pread(file.fileno(), limit, start)
        identity = (info.st_dev, info.st_ino)
        if not data and not replaced:
            log.file, log.seen = identity, seen
            return None
        return LogPiece(name, log, start, self._base(name) + start, data, replaced, identity, seen)

    def forget(self, name: str) -> None:
        """Look at a file as if for the first time, because its beginning was cut."""
        self._logs.pop(name, None)

    @staticmethod
    def accept(piece: LogPiece) -> None:
        """Remember that the server has a piece."""
        log = piece.log
        log.tail = ((b"" if piece.replace else log.tail) + piece.data)[-_TAIL:]
        log.offset = piece.start + len(piece.data)
        log.file = piece.file
        log.seen = piece.seen

    def _base(self, name: str) -> int:
        return self._bases.get(name, 0)


_GLANCE = 32 * journal_format.SLOT

FirstSize = Callable[[str, str, str], int]
"""(run, writer, part): the size of a journal at the server when its file is first seen."""


class JournalPiece(NamedTuple):
    """A piece of one part of a journal to be sent."""

    writer: str
    part: str
    offset: int
    data: bytes


class JournalShipper:
    """Ships journals and remembers how much of each the server has."""

    def __init__(self, server: GrowingFiles, first_size: FirstSize) -> None:
        self._server = server
        self._first_size = first_size
        self._sizes: Dict[Tuple[str, str, str], int] = {}

    def ship(self, directory: str, run: str, writer: str, finished: bool, system: bool = False) -> bool:
        """Send at most one piece of a writer's slots, and their text; return whether there may be more.

        `finished`: the writer is dead, so ship the holes as well instead of waiting for them.
        """
        read = journal_format.everything if finished else _read_finished
        path = os.path.join(directory, writer)
        slots = read(path + ".slots", self._size(run, writer, "slots"), PIECE)
        if not slots:
            return False
        # The text is read after the slots and sent before them, so the server never has a slot without its text.
        while True:
            text = journal_format.read_text(path + ".text", self._size(run, writer, "text"), PIECE)
            if not text:
                break
            if not self._send(run, writer, "text", text, system):
                return True
        self._send(run, writer, "slots", slots, system)
        return True

    def next_pieces(
        self, directory: str, run: str, writer: str, finished: bool, limit: int
    ) -> Optional[List[JournalPiece]]:
        """Return the rest of a journal, text before slots; None if either part has `limit` bytes or more."""
        read = journal_format.everything if finished else _read_finished
        path = os.path.join(directory, writer)
        slots = read(path + ".slots", self._size(run, writer, "slots"), limit)
        if not slots:
            return []
        text = journal_format.read_text(path + ".text", self._size(run, writer, "text"), limit)
        if max(len(slots) + journal_format.SLOT, len(text)) >= limit:
            return None
        parts = (("text", text), ("slots", slots))
        return [JournalPiece(writer, part, self._size(run, writer, part), data) for part, data in parts if data]

    def accept(self, run: str, piece: JournalPiece) -> None:
        """Remember that the server has a piece."""
        self._sizes[run, piece.writer, piece.part] = piece.offset + len(piece.data)

    def _size(self, run: str, writer: str, part: str) -> int:
        key = (run, writer, part)
        if key not in self._sizes:
            self._sizes[key] = self._first_size(run, writer, part)
        return self._sizes[key]

    def _send(self, run: str, writer: str, part: str, data: bytes, system: bool) -> bool:
        """Return False when the server had less than we thought: the next call starts from there."""
        key = (run, writer, part)
        offset = self._sizes[key]
        try:
            self._sizes[key] = self._server.append_journal(run, writer, part, offset, data, system)
        except Conflict as error:
            self._sizes[key] = agree_on_offset(error, offset)
            return False
        return True


def _read_finished(path: str, offset: int, limit: int) -> bytes:
    """Read the finished slots, with a glance first: an idle journal is a long row of zeros."""
    glance = journal_format.finished_prefix(path, offset, _GLANCE)
    return glance if len(glance) < _GLANCE else journal_format.finished_prefix(path, offset, limit)
