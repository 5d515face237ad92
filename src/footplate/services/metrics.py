"""Metrics: journals arrive as bytes by offset and leave as series."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from footplate.domain.replies import CurveBuckets, CurveView, LoggedPoint, MetricSeries, MetricSummary, SeriesGrid
from footplate.domain.runs.tracking import NewPoint
from footplate.errors import NotFound
from footplate.services.topics import MetricsArrived, Publish
from footplate.storage import RunQuery, Storage
from footplate.storage.runs import no_such_run
from footplate.storage.series import grid, smoothing
from footplate.storage.series.attempts import nearest
from footplate.storage.series.curves import JoinedCurve


@dataclass(frozen=True)
class GridRequest:
    """What a picture shows: `low` and `high` are the range of x; None is all of it.

    `smooth` is the weight of an exponential average, `window` the number of points of a moving one; 0 is neither.
    """

    workspace: str
    runs: Sequence[str]
    names: Sequence[str]
    axis: str = "step"
    low: float | None = None
    high: float | None = None
    pixels: int = 800
    system: bool = False
    smooth: float = 0.0
    window: int = 0
    by_rank: bool = False


class MetricService:
    def __init__(self, store: Storage, publish: Publish, on_append: Callable[[str], None] = lambda run: None) -> None:
        self._store = store
        self._publish = publish
        self._on_append = on_append

    def append(self, run: str, writer: str, stream: str, offset: int, data: bytes, system: bool) -> int:
        self._store.runs.record(run)
        size = self._store.metrics.append(run, writer, stream, offset, data, system)
        self._publish(MetricsArrived(run))
        self._on_append(run)
        return size

    def add_points(self, run: str, points: Sequence[NewPoint]) -> None:
        """Add points that did not arrive as a journal."""
        self._store.metrics.add_points(run, points)
        self._publish(MetricsArrived(run))
        self._on_append(run)

    def read(self, run: str, name: str | None, system: bool, recursive: bool) -> dict[str, list[MetricSeries]]:
        runs = [run, *self._descendants(run)] if recursive else [run]
        return {r: [MetricSeries(**each) for each in self._store.metrics.read(r, name, system)] for r in runs}

    def grid(self, request: GridRequest) -> SeriesGrid:
        """Return the requested metrics on one grid. A run without a metric has no curve for it."""
        self._check(request.workspace, request.runs)
        joined = {
            (run, *key): _smooth(curve, request)
            for run in request.runs
            for key, curve in self._curves(run, request).items()
        }
        curves = [each.curve for each in joined.values()]
        low, high = grid.extent(curves) or (None, None)
        low = low if request.low is None else request.low
        high = high if request.high is None else request.high
        if low is None or high is None:
            return SeriesGrid(request.axis, low, high, None, ())
        width = grid.bucket_width(curves, low, high, request.pixels)
        views = (
            replace(_view(run, name, each, low, high, width), rank=rank) for (run, name, rank), each in joined.items()
        )
        return SeriesGrid(request.axis, low, high, width, tuple(views))

    def _curves(self, run: str, request: GridRequest) -> dict[tuple[str, int | None], JoinedCurve]:
        """Return the curves by name and rank; without `by_rank`, one curve has the points of all ranks."""
        metrics = self._store.metrics
        if request.by_rank:
            return metrics.curves_by_rank(run, request.names, request.axis, request.system)
        curves = metrics.curves(run, request.names, request.axis, request.system)
        return {(name, None): curve for name, curve in curves.items()}

    def rows(self, workspace: str, runs: Sequence[str], names: Sequence[str], system: bool) -> Iterator[list[Any]]:
        """Yield every point as run, metric, step, time and value. Unknown runs are an error before the first row."""
        self._check(workspace, runs)
        return (
            [run, series["name"], "" if step is None else step, time, value]
            for run in runs
            for name in names
            for series in self._store.metrics.read(run, name, system)
            for time, step, value in series["points"]
        )

    def _check(self, workspace: str, runs: Sequence[str]) -> None:
        for run in runs:
            if self._store.runs.record(run).workspace != workspace:
                raise no_such_run(run)

    def summary(self, run: str) -> list[MetricSummary]:
        self._store.runs.record(run)
        return [MetricSummary(**each) for each in self._store.metrics.summary(run)]

    def find_point(self, run: str, name: str, step: float | None, seconds: float | None) -> LoggedPoint:
        """Return the point nearest to a step, or to so many seconds after the first point."""
        self._store.runs.record(run)
        for each in self._store.metrics.read(run, name):
            if point := nearest(each["points"], step, seconds):
                return LoggedPoint(*point)
        raise NotFound(f"run {run} has no metric {name!r}", "see what it has on its page or with: footplate runs show")

    def _descendants(self, run: str) -> list[str]:
        workspace = self._store.runs.record(run).workspace
        runs: list[str] = []
        cursor: str | None = None
        while True:
            query = RunQuery(workspace=workspace, parent="any", ancestor=run, ascending=True, limit=1000, cursor=cursor)
            page, cursor = self._store.runs.list(query)
            runs += [v.id for v in page]
            if cursor is None:
                return runs


def _smooth(joined: JoinedCurve, request: GridRequest) -> JoinedCurve:
    curve = joined.curve
    if request.window > 1:
        return replace(joined, curve=replace(curve, values=smoothing.moving(curve.values, request.window)))
    if request.smooth:
        return replace(joined, curve=replace(curve, values=smoothing.exponential(curve.values, request.smooth)))
    return joined


def _view(run: str, name: str, joined: JoinedCurve, low: float, high: float, width: float | None) -> CurveView:
    curve = joined.curve
    starts = tuple((attempt, x) for attempt, x in joined.starts)
    if width is None:
        xs, values = grid.points(curve, low, high)
        return CurveView(run, name, len(curve.xs), xs, values, starts=starts)
    buckets = CurveBuckets(**vars(grid.summarize(curve, low, high, width)))
    return CurveView(run, name, len(curve.xs), buckets=buckets, starts=starts)
