"""Lines of a log as a terminal shows them: what follows the last carriage return of a line, so that a progress bar is
one line that lives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from footplate.storage.log_reading.line_index import LineIndex
from footplate.storage.series import append_files

LONGEST_TEXT = 16 * 1024
_WINDOW = 1024 * 1024
_END = 64 * 1024  # of a long line is searched for a carriage return
_MOST_TEXT = 2 * 1024 * 1024  # characters of a page


class Line(NamedTuple):
    offset: int
    end: int
    text: str


def forward(log: Path, index: LineIndex, start: int, limit: int) -> list[Line]:
    """Return up to `limit` lines from `start` on, where a line begins; fewer if they are long."""
    lines: list[Line] = []
    room = _MOST_TEXT
    for line in _lines(log, index, start, limit):
        room -= len(line.text)
        if room < 0 and lines:
            break
        lines.append(line)
    return lines


def backward(log: Path, index: LineIndex, end: int, limit: int) -> list[Line]:
    """Return up to `limit` lines before `end`; fewer if they are long."""
    last = index.lines if end >= index.size else index.line_at(end)
    lines: list[Line] = []
    room = _MOST_TEXT
    for line in reversed(list(_lines(log, index, index.offset_of(last - limit), min(limit, last)))):
        room -= len(line.text)
        if room < 0 and lines:
            break
        lines.append(line)
    return lines[::-1]


def shown(line: bytes) -> str:
    """Return what a terminal shows of a line."""
    visible = line.rstrip(b"\r\n").rpartition(b"\r")[2]
    return visible[: 4 * LONGEST_TEXT].decode("utf-8", "replace")[:LONGEST_TEXT]


def _lines(log: Path, index: LineIndex, start: int, limit: int) -> Iterator[Line]:
    at = start
    while limit > 0 and at < index.size:
        window = append_files.read(log, at, min(_WINDOW, index.size - at))
        whole = window.split(b"\n")
        rest = whole.pop()
        for line in whole[:limit]:
            end = at + len(line) + 1
            yield Line(at, end, shown(line))
            at, limit = end, limit - 1
        if limit <= 0:
            return
        if at + len(rest) >= index.size:
            if rest:
                yield Line(at, index.size, shown(rest))
            return
        if not whole:
            end = index.offset_of(index.line_at(at) + 1)
            yield Line(at, end, _shown_of_long(log, at, end))
            at, limit = end, limit - 1


def _shown_of_long(log: Path, start: int, end: int) -> str:
    tail = append_files.read(log, max(start, end - _END), min(_END, end - start))
    if b"\r" in tail.rstrip(b"\r\n"):
        return shown(tail)
    return shown(append_files.read(log, start, _END))
