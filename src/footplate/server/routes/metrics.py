from __future__ import annotations

import asyncio
import csv
import io
import itertools
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from fastapi import Query, Request, Response
from fastapi.responses import StreamingResponse

from footplate.domain.replies import AppendedBytes, LoggedPoint, MetricSeries, MetricSummary, SeriesGrid
from footplate.server.openapi import BYTES_IN, CSV_OUT, Page, Router
from footplate.server.responses import answer, answer_list
from footplate.server.rights import Right
from footplate.server.routes.parsing import Repeated, ServicesOf
from footplate.services.metrics import GridRequest

router = Router("metrics")
_ROWS = 5_000  # of CSV, sent at once


@router.put("/runs/{run}/journals/{writer}/{stream}", Right.LOG_RUNS, AppendedBytes, openapi_extra=BYTES_IN)
async def append_journal(
    run: str,
    writer: str,
    stream: str,
    request: Request,
    services: ServicesOf,
    offset: Annotated[int, Query(ge=0)] = 0,
    system: bool = False,
) -> Response:
    """Append to the `slots` or the `text` of a journal; the rule for offsets is that of logs."""
    data = await request.body()
    size = await asyncio.to_thread(services.metrics.append, run, writer, stream, offset, data, system)
    return answer(AppendedBytes(size))


@router.get("/runs/{run}/metrics", Right.READ_RUNS, dict[str, list[MetricSeries]])
def get_metrics(
    run: str, services: ServicesOf, name: str | None = None, system: bool = False, recursive: bool = False
) -> Response:
    """Return the series of a run; with `recursive`, also those of the runs below it."""
    return answer(services.metrics.read(run, name, system, recursive), tag_non_finite=True)


@router.get("/runs/{run}/metrics/summary", Right.READ_RUNS, Page(MetricSummary))
def get_metric_summary(run: str, services: ServicesOf) -> Response:
    """List the series of a run with count, last, minimum and maximum."""
    return answer_list(services.metrics.summary(run), tag_non_finite=True)


@router.get("/runs/{run}/metrics/point", Right.READ_RUNS, LoggedPoint)
def find_point(
    run: str, name: str, services: ServicesOf, step: float | None = None, seconds: float | None = None
) -> Response:
    """Return when a metric logged the point nearest to `step`, or to `seconds` after its first point."""
    return answer(services.metrics.find_point(run, name, step, seconds))


@router.get("/workspaces/{workspace}/series", Right.READ_WORKSPACE, SeriesGrid)
def get_series(
    workspace: str,
    services: ServicesOf,
    run: Repeated = (),
    name: Repeated = (),
    axis: Annotated[str, Query(pattern="^(step|time|relative|metric:.+)$")] = "step",
    low: float | None = None,
    high: float | None = None,
    pixels: Annotated[int, Query(ge=1, le=20_000)] = 800,
    system: bool = False,
    smooth: Annotated[float, Query(ge=0, le=0.9999)] = 0.0,
    window: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    by_rank: bool = False,
) -> Response:
    """Return metrics of several runs on one grid, for a picture that is so many pixels wide.

    Where there are more than two points per pixel, each bucket has first, min, max, last and counts; its width is a
    power of two, so that later points do not move it. `axis=metric:NAME` places points by the value of another metric
    at the same step. `smooth` is the weight of an exponential moving average, `window` the points of a plain one; both
    are computed from all points. With `by_rank`, each rank has a curve of its own.
    """
    request = GridRequest(workspace, run, name, axis, low, high, pixels, system, smooth, window, by_rank)
    return answer(services.metrics.grid(request))


@router.get(
    "/workspaces/{workspace}/series/csv", Right.READ_WORKSPACE, response_class=StreamingResponse, responses=CSV_OUT
)
def export_series(
    workspace: str, services: ServicesOf, run: Repeated = (), name: Repeated = (), system: bool = False
) -> Response:
    """Return every point of these metrics as CSV: run, metric, step, time in seconds since 1970, and value."""
    rows = services.metrics.rows(workspace, run, name, system)
    return StreamingResponse(_as_csv(rows), media_type="text/csv")


def _as_csv(rows: Iterable[list[Any]]) -> Iterator[str]:
    """Yield the text in pieces of many rows."""
    remaining = iter(itertools.chain([["run", "metric", "step", "time", "value"]], rows))
    while batch := list(itertools.islice(remaining, _ROWS)):
        text = io.StringIO()
        csv.writer(text).writerows(batch)
        yield text.getvalue()
