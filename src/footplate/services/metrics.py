"""Metrics: journals arrive as bytes by offset and leave as series."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from footplate.domain.replies import CurveBuckets, CurveView, MetricSeries, MetricSummary, SeriesGrid
from footplate.services.topics import MetricsArrived, Publish
from footplate.storage import RunQuery, Storage
from footplate.storage.runs import no_such_run
from footplate.storage.series import grid
from footplate.storage.series.curves import JoinedCurve


@dataclass(frozen=True)
class GridRequest:
    """What a picture shows: `low` and `high` are the range of x; None is all of it."""

    workspace: str
    runs: Sequence[str]
    names: Sequence[str]
    axis: str = "step"
    low: float | None = None
    high: float | None = None
    pixels: int = 800
    system: bool = False


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

    def read(self, run: str, name: str | None, system: bool, recursive: bool) -> dict[str, list[MetricSeries]]:
        runs = [run, *self._descendants(run)] if recursive else [run]
        return {r: [MetricSeries(**each) for each in self._store.metrics.read(r, name, system)] for r in runs}

    def grid(self, request: GridRequest) -> SeriesGrid:
        """Return the requested metrics on one grid. A run without a metric has no curve for it."""
        for run in request.runs:
            if self._store.runs.record(run).workspace != request.workspace:
                raise no_such_run(run)
        joined = {
            (run, name): curve
            for run in request.runs
            for name, curve in self._store.metrics.curves(run, request.names, request.axis, request.system).items()
        }
        curves = [each.curve for each in joined.values()]
        low, high = grid.extent(curves) or (None, None)
        low = low if request.low is None else request.low
        high = high if request.high is None else request.high
        if low is None or high is None:
            return SeriesGrid(request.axis, low, high, None, ())
        width = grid.bucket_width(curves, low, high, request.pixels)
        views = (_view(run, name, each, low, high, width) for (run, name), each in joined.items())
        return SeriesGrid(request.axis, low, high, width, tuple(views))

    def summary(self, run: str) -> list[MetricSummary]:
        self._store.runs.record(run)
        return [MetricSummary(**each) for each in self._store.metrics.summary(run)]

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


def _view(run: str, name: str, joined: JoinedCurve, low: float, high: float, width: float | None) -> CurveView:
    curve = joined.curve
    starts = tuple((attempt, x) for attempt, x in joined.starts)
    if width is None:
        xs, values = grid.points(curve, low, high)
        return CurveView(run, name, len(curve.xs), xs, values, starts=starts)
    buckets = CurveBuckets(**vars(grid.summarize(curve, low, high, width)))
    return CurveView(run, name, len(curve.xs), buckets=buckets, starts=starts)
