"""Pages of logs and searches in them, with line numbers and times of arrival."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

from footplate.domain.replies import LogMatch, LogMatches, LogPage
from footplate.errors import NotFound
from footplate.storage.log_reading import line_index, log_pages, log_search
from footplate.storage.log_reading.line_index import LineIndex
from footplate.storage.logs import Logs
from footplate.storage.series import append_files, arrival_times
from footplate.storage.series.append_files import KeyedLocks

_AROUND = 1000  # bytes shown on each side of a match in a long line


class LogPlace(NamedTuple):
    """A place in a log: at most one of a line, an offset and a time; without any, the end."""

    line: int | None = None
    offset: int | None = None
    time: float | None = None


class LogReader:
    def __init__(self, logs: Logs) -> None:
        self._logs = logs
        self._locks = KeyedLocks()
        logs.on_rewrite = self._forget

    def page(self, run: str, path: str, place: LogPlace, limit: int, back: bool = False) -> LogPage:
        """Return the lines from a place on, or those before it. Without a place: the last ones."""
        log, index = self._open(run, path)
        at = self._offset_of(run, path, index, place)
        if back or at is None:
            lines = log_pages.backward(log, index, index.size if at is None else at, limit)
        else:
            lines = log_pages.forward(log, index, at, limit)
        end = index.size if at is None else at
        start, end = (lines[0].offset, lines[-1].end) if lines else (end, end)
        offsets = [line.offset for line in lines]
        times = arrival_times.times_of(self._logs.times_of(run, path), log, offsets)
        first = index.line_at(start) if lines or start < index.size else index.lines
        return LogPage(path, index.size, index.lines, first, start, end, [line.text for line in lines], offsets, times)

    def search(
        self, run: str, path: str, mode: str, pattern: str, is_case_sensitive: bool, offset: int, limit: int
    ) -> LogMatches:
        """Find lines with a text, a regular expression (`regex`), or those that begin a report of `errors`."""
        log, index = self._open(run, path)
        if mode == "errors":
            result = log_search.find_errors(log, index.size, offset, limit)
        elif mode == "regex":
            result = log_search.find_pattern(log, index.size, pattern, is_case_sensitive, offset, limit)
        else:
            result = log_search.find_text(log, index.size, pattern, is_case_sensitive, offset, limit)
        matches = tuple(_match(log, index, start, end) for start, end in result.matches)
        return LogMatches(path, index.size, matches, None if result.after >= index.size else result.after)

    def _open(self, run: str, path: str) -> tuple[Path, LineIndex]:
        log = self._logs.file_of(run, path)
        if not log.is_file():
            raise NotFound(
                f"run {run} has no log {path!r}", f"see what it has with: footplate runs files {run}", run=run
            )
        with self._locks.hold((run, path)):
            return log, LineIndex(log, self._logs.index_of(run, path))

    def _forget(self, run: str, path: str, size: int) -> None:
        with self._locks.hold((run, path)):
            line_index.cut(self._logs.index_of(run, path), size)

    def _offset_of(self, run: str, path: str, index: LineIndex, place: LogPlace) -> int | None:
        if place.line is not None:
            return index.offset_of(place.line)
        if place.offset is not None:
            return place.offset if place.offset >= index.size else index.offset_of(index.line_at(place.offset))
        if place.time is not None:
            return self._logs.recent(run, path, place.time if math.isfinite(place.time) else 0.0)
        return None


def _match(log: Path, index: LineIndex, start: int, end: int) -> LogMatch:
    """Return a match with the text around it that a terminal would show together."""
    line = index.line_at(start)
    begin = max(index.offset_of(line), start - _AROUND)
    head = _text(append_files.read(log, begin, start - begin).rpartition(b"\r")[2])
    inside, line_break, _ = append_files.read(log, start, min(end - start, _AROUND)).partition(b"\n")
    following = b"" if line_break else append_files.read(log, end, _AROUND).partition(b"\n")[0].partition(b"\r")[0]
    stop = len(head) + len(_text(inside))
    return LogMatch(line, start, head + _text(inside) + _text(following), len(head), stop)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
