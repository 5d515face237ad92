"""Ship logs as they grow, and again from the start when they were written anew."""

from __future__ import annotations

import os
from typing import Callable, Dict, Mapping, NamedTuple, Optional, Tuple

from footplate.domain.orders import CUT_MARK
from footplate.errors import Conflict
from footplate.growing_files.offsets import PIECE, GrowingFiles, agree_on_offset

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
