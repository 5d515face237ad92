"""Arrival times of the bytes of a growing file: lines `time offset ;`, at most one per second.

A line means that everything from `offset` on arrived at `time` or later. It is a help for people who look for recent
output: if it cannot be written, the log itself is unharmed. A log whose bytes all arrive within a second has no such
file: the time of its last change says the same, and short runs have many such logs.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

GAP_SECONDS = 1.0
_REMEMBERED = 1_000


class ArrivalTimes:
    """Marks the times of many logs. One thread at a time may mark one log."""

    def __init__(self, limit: int = _REMEMBERED) -> None:
        self._limit = limit
        self._begun: OrderedDict[Path, float] = OrderedDict()  # first bytes of logs that have no file yet

    def mark(self, path: Path, offset: int, now: float, changed: float) -> None:
        """Record that the bytes from `offset` on arrive now. Until now, the log was last `changed` then."""
        begun = self._begun.get(path)
        if offset == 0 and begun is None and not path.exists():
            self._begun[path] = now
            if len(self._begun) > self._limit:
                self._begun.popitem(last=False)
            return
        if begun is not None and abs(now - begun) < GAP_SECONDS:
            return
        self._begun.pop(path, None)
        if begun is not None or not path.exists():  # forgotten, or begun under an earlier server
            mark(path, 0, begun or changed)
        mark(path, offset, now)


def mark(path: Path, offset: int, now: float) -> None:
    """Record that the bytes from `offset` on arrive now. The file's own time is that of its last line."""
    with suppress(OSError):
        try:
            last = path.stat().st_mtime
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            last = 0.0
        if abs(now - last) >= GAP_SECONDS:
            with path.open("a") as file:
                file.write(f"\n{now:.3f} {offset} ;")  # a part that a killed server left is a line of its own
            os.utime(path, (now, now))


def times_of(path: Path, log: Path, offsets: Sequence[int]) -> list[float | None]:
    """Return when the bytes at these ascending offsets arrived. Without marks, all arrived with the last change."""
    marks = _marks(path)
    if not marks:
        changed = log.stat().st_mtime if log.exists() else None
        return [changed for _ in offsets]
    valid: list[tuple[int, float]] = []
    for time, offset in marks:
        while valid and valid[-1][0] >= offset:  # the log was rewritten from there on
            valid.pop()
        valid.append((offset, time))
    starts = [offset for offset, _ in valid]
    places = [bisect_right(starts, offset) - 1 for offset in offsets]
    return [valid[place][1] if place >= 0 else None for place in places]


def first_offset(path: Path, moment: float) -> int | None:
    """Return the offset of the first byte that arrived after `moment`; None if no time after it is known.

    Up to a second of earlier bytes may be included. Offsets decrease where a file was rewritten.
    """
    return min((offset for time, offset in _marks(path) if time > moment - GAP_SECONDS), default=None)


def _marks(path: Path) -> list[tuple[float, int]]:
    """Return times and offsets in the order written; none if the file does not exist."""
    try:
        lines = path.read_text().splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return []
    whole = [line.split() for line in lines if line.endswith(" ;")]
    return [(float(time), int(offset)) for time, offset, _ in whole]
