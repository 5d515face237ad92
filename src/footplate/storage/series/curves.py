"""Curves of runs that somebody looks at, decoded once and extended by what arrives: only new points cost anything."""

from __future__ import annotations

import itertools
import math
import operator
import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge as merge_sorted
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

from footplate.job.journal_format import SLOT, MetricColumn, attempt_of, rank_of
from footplate.storage.series import append_files
from footplate.storage.series.attempts import Points, join
from footplate.storage.series.grid import Curve, by_x
from footplate.storage.series.journals import JournalDecoder
from footplate.storage.series.number_columns import Numbers, numbers, plain_start
from footplate.storage.series.summaries import WORDS, series_name

K = TypeVar("K")

MOST_POINTS = 4_000_000
"""Points that are remembered, of all runs together: 24 bytes each."""

_PIECE = 4 * 1024 * 1024 // SLOT * SLOT


@dataclass
class Column:
    """The numbers of one metric from one writer, in the order logged. A point without a step has NaN."""

    times: array[float] = field(default_factory=lambda: array("d"))
    steps: array[float] = field(default_factory=lambda: array("d"))
    values: array[float] = field(default_factory=lambda: array("d"))
    is_finite: bool = True
    is_ordered: bool = True  # by time and by step

    def extend(self, column: MetricColumn) -> None:
        steps = array("d", (math.nan if step is None else step for step in column.steps))
        self.add(Numbers(array("d", column.times), steps, array("d", _numbers(column.values))))

    def add(self, points: Numbers) -> None:
        before = len(self.values)
        self.times.extend(points.times)
        self.steps.extend(points.steps)
        self.values.extend(points.values)
        self.is_finite = self.is_finite and _are_finite(points.values)
        start = max(0, before - 1)
        self.is_ordered = self.is_ordered and _ascends(self.times[start:]) and _ascends(self.steps[start:])

    def points(self) -> Points:
        steps = (None if step != step else step for step in self.steps)
        return [list(point) for point in zip(self.times, steps, self.values, strict=True)]

    def numbered(self) -> list[tuple[float, float, float]]:
        """Return the points with steps; a point without one has its position."""
        if any(step != step for step in self.steps):
            steps = [float(at) if step != step else step for at, step in enumerate(self.steps)]
            return list(zip(self.times, steps, self.values, strict=True))
        return list(zip(self.times, self.steps, self.values, strict=True))


class _Writer:
    """How far a writer's journal was decoded, and its columns."""

    def __init__(self, slots: Path) -> None:
        self._slots = slots
        self._decoder = JournalDecoder(slots.with_suffix(".text"))
        self._offset = 0
        self.columns: dict[str, Column] = {}

    def advance(self) -> int:
        """Decode what has arrived; return the number of new points."""
        added = 0
        with self._decoder.text:
            while piece := append_files.read(self._slots, self._offset, _PIECE):
                whole = piece[: len(piece) // SLOT * SLOT]
                if not whole:
                    break
                self._offset += len(whole)
                added += self._decode(whole)
        return added

    def _decode(self, slots: bytes) -> int:
        """Decode slots, the plain ones at their end all at once."""
        names = self._decoder.names
        start = plain_start(slots, names)
        added = self._decode_slowly(slots[:start]) if start else 0
        rest = slots[start:]
        columns = numbers(rest, names) if rest else {}
        if columns is None:
            return added + self._decode_slowly(rest)
        for name, points in columns.items():
            self.columns.setdefault(series_name(name), Column()).add(points)
            added += len(points.values)
        return added

    def _decode_slowly(self, slots: bytes) -> int:
        added = 0
        for (name, kind), column in self._decoder.columns(slots).items():
            if WORDS.get(kind) == "scalar":
                self.columns.setdefault(series_name(name), Column()).extend(column)
                added += len(column.values)
        return added


@dataclass
class _Run:
    writers: dict[str, _Writer] = field(default_factory=dict[str, _Writer])
    points: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True)
class JoinedCurve:
    """A curve over all writers and attempts. `starts`: the attempt and the x at which each later one begins."""

    curve: Curve
    starts: tuple[tuple[int, float], ...] = ()


class RecentCurves:
    """Any thread may read. The runs that were looked at longest ago are forgotten first."""

    def __init__(self, file_of: Callable[[str, str], Path], limit: int = MOST_POINTS) -> None:
        self._file_of = file_of
        self._limit = limit
        self._guard = threading.Lock()
        self._runs: OrderedDict[str, _Run] = OrderedDict()

    def read(self, run: str, writers: Iterable[str], names: Sequence[str], axis: str) -> dict[str, JoinedCurve]:
        """Return the curves of these metrics by name, over `step`, `time`, `relative` time or `metric:NAME`."""
        return self._read(run, writers, lambda decoded: {name: _curve(decoded, name, axis) for name in names})

    def read_by_rank(
        self, run: str, writers: Iterable[str], names: Sequence[str], axis: str
    ) -> dict[tuple[str, int | None], JoinedCurve]:
        """Return a curve for each metric and rank."""

        def curves(decoded: Mapping[str, _Writer]) -> dict[tuple[str, int | None], JoinedCurve | None]:
            ranks = sorted({rank_of(writer) for writer in decoded}, key=lambda rank: -1 if rank is None else rank)
            of_rank = {rank: {w: each for w, each in decoded.items() if rank_of(w) == rank} for rank in ranks}
            return {(name, rank): _curve(of_rank[rank], name, axis) for name in names for rank in ranks}

        return self._read(run, writers, curves)

    def _read(
        self,
        run: str,
        writers: Iterable[str],
        select: Callable[[Mapping[str, _Writer]], Mapping[K, JoinedCurve | None]],
    ) -> dict[K, JoinedCurve]:
        entry = self._entry(run)
        with entry.lock:
            self._advance(run, entry, writers)
            curves = select(entry.writers)
        self._forget_others(run)
        return {key: joined for key, joined in curves.items() if joined is not None}

    def points(self, run: str, writers: Iterable[str], name: str) -> list[tuple[float, float, float]]:
        """Return all points of a metric as (time, step, value), of each writer in the order logged."""
        entry = self._entry(run)
        points: list[tuple[float, float, float]] = []
        with entry.lock:
            self._advance(run, entry, writers)
            for writer in entry.writers.values():
                column = writer.columns.get(name)
                if column is not None:
                    points += column.numbered()
        self._forget_others(run)
        return points

    def _advance(self, run: str, entry: _Run, writers: Iterable[str]) -> None:
        for name in writers:
            writer = entry.writers.setdefault(name, _Writer(self._file_of(run, name)))
            entry.points += writer.advance()

    def forget(self, run: str) -> None:
        with self._guard:
            self._runs.pop(run, None)

    def _entry(self, run: str) -> _Run:
        with self._guard:
            entry = self._runs.setdefault(run, _Run())
            self._runs.move_to_end(run)
            return entry

    def _forget_others(self, run: str) -> None:
        with self._guard:
            while sum(entry.points for entry in self._runs.values()) > self._limit:
                oldest = next(iter(self._runs))
                del self._runs[oldest]
                if oldest == run:
                    return


def _curve(writers: Mapping[str, _Writer], name: str, axis: str) -> JoinedCurve | None:
    kind, is_metric, other = axis.partition(":")
    joined = _join_writers(writers, name, "step" if is_metric else kind)
    if joined is None or not is_metric:
        return joined
    across = _join_writers(writers, other, "step")
    if across is None:
        return None
    x_at = dict(zip(across.curve.xs, across.curve.values, strict=True))
    points = [(x_at[at], value) for at, value in zip(joined.curve.xs, joined.curve.values, strict=True) if at in x_at]
    xs, values = array("d", (x for x, _ in points)), array("d", (value for _, value in points))
    return JoinedCurve(Curve(*by_x(xs, values), joined.curve.is_finite)) if points else None


def _join_writers(writers: Mapping[str, _Writer], name: str, axis: str) -> JoinedCurve | None:
    columns = {writer: each.columns[name] for writer, each in sorted(writers.items()) if name in each.columns}
    if not columns:
        return None
    is_finite = all(column.is_finite for column in columns.values())
    if len(columns) == 1:
        [column] = columns.values()
        xs = _axis(column.times, column.steps, axis)
        ordered = (xs, column.values) if column.is_ordered else by_x(xs, column.values)
        return JoinedCurve(Curve(*ordered, is_finite))
    by_attempt: dict[int, list[Points]] = {}
    for writer, column in columns.items():
        by_attempt.setdefault(attempt_of(writer), []).append(column.points())
    merged = {attempt: list(merge_sorted(*lists, key=itemgetter(0))) for attempt, lists in by_attempt.items()}
    points, starts = join(merged)
    times = array("d", (time for time, _, _ in points))
    steps = array("d", (math.nan if step is None else step for _, step, _ in points))
    xs = _axis(times, steps, axis)
    first_x = tuple((attempt, xs[index]) for attempt, index in starts)
    return JoinedCurve(Curve(*by_x(xs, array("d", (value for _, _, value in points))), is_finite), first_x)


def _axis(times: array[float], steps: array[float], axis: str) -> array[float]:
    """Return the x of each point. Points without a step count up, as MLflow and TensorBoard show them."""
    if axis == "time":
        return times
    if axis == "relative":
        return array("d", (time - times[0] for time in times))
    if steps and steps[0] != steps[0]:
        return array("d", range(len(steps)))
    return steps


def _numbers(values: Sequence[object]) -> Iterable[float]:
    """Return values as floats: text and null, which a series of numbers may hold, are NaN."""
    for value in values:
        try:
            yield float(value) if isinstance(value, (int, float)) else math.nan
        except OverflowError:
            yield math.inf if value > 0 else -math.inf  # type: ignore[operator]


def _are_finite(values: array[float]) -> bool:
    """A finite sum has finite parts; where the sum overflows, each is looked at."""
    return math.isfinite(sum(values)) or all(map(math.isfinite, values))


def _ascends(values: array[float]) -> bool:
    return all(map(operator.le, values, itertools.islice(values, 1, None)))
