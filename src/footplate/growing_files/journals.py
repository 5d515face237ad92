"""Ship metric journals, text before the slots that point to it."""

from __future__ import annotations

import os
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

from footplate.errors import Conflict
from footplate.growing_files.offsets import PIECE, GrowingFiles, agree_on_offset
from footplate.job import journal_format

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
