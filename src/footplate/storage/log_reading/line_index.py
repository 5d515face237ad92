"""Line numbers of a growing log: a side file with the number of line breaks up to the end of each block.

The side file is extended when somebody reads the log, so that writing costs nothing. It is only a help: one that is
missing, cut short, or longer than its log is completed from the log.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left
from pathlib import Path

from footplate.storage.series import append_files

BLOCK = 256 * 1024
_ENTRY = 8


class LineIndex:
    """The lines of a log of `size` bytes. The caller holds a lock while it is made."""

    def __init__(self, log: Path, index: Path) -> None:
        self._log = log
        self.size = append_files.size_of(log)
        self._breaks = _read(index, self.size)
        self._extend(index)
        rest = len(self._breaks) * BLOCK
        tail = append_files.read(log, rest, self.size - rest)
        self._all_breaks = self._before(len(self._breaks)) + tail.count(b"\n")
        self.lines = self._all_breaks + (1 if tail and not tail.endswith(b"\n") else 0)
        if not tail and self.size and append_files.read(log, self.size - 1, 1) != b"\n":
            self.lines += 1

    def line_at(self, offset: int) -> int:
        """Return the number of the line that has this byte, counted from 0."""
        block = min(offset // BLOCK, len(self._breaks))
        start = block * BLOCK
        return self._before(block) + append_files.read(self._log, start, offset - start).count(b"\n")

    def offset_of(self, line: int) -> int:
        """Return where a line begins; the size of the log if it has no such line."""
        if line <= 0:
            return 0
        if line > self._all_breaks:
            return self.size
        block = bisect_left(self._breaks, line)
        start = block * BLOCK
        data = append_files.read(self._log, start, min(BLOCK, self.size - start))
        at = -1
        for _ in range(line - self._before(block)):
            at = data.index(b"\n", at + 1)
        return start + at + 1

    def _before(self, block: int) -> int:
        return self._breaks[block - 1] if block else 0

    def _extend(self, index: Path) -> None:
        fresh: array[int] = array("Q")
        indexed = len(self._breaks)
        total = self._before(indexed)
        for block in range(indexed, self.size // BLOCK):
            total += append_files.read(self._log, block * BLOCK, BLOCK).count(b"\n")
            fresh.append(total)
        if fresh:
            self._breaks.extend(fresh)
            append_files.append(index, indexed * _ENTRY, fresh.tobytes())


def cut(index: Path, size: int) -> None:
    """Forget everything after the first `size` bytes of a log, which is being rewritten."""
    if index.exists():
        os.truncate(index, size // BLOCK * _ENTRY)


def _read(index: Path, size: int) -> array[int]:
    """Return the entries of whole blocks that the log has; drop others from the file."""
    breaks: array[int] = array("Q")
    data = append_files.read(index, 0, size // BLOCK * _ENTRY)
    breaks.frombytes(data[: len(data) // _ENTRY * _ENTRY])
    if append_files.size_of(index) != len(breaks) * _ENTRY:
        os.truncate(index, len(breaks) * _ENTRY)
    return breaks
