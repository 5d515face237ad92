from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import Query, Request, Response

from footplate.domain.replies import AppendedBytes, MetricSeries, MetricSummary
from footplate.server.openapi import BYTES_IN, Page, Router
from footplate.server.responses import answer, answer_list
from footplate.server.rights import Right
from footplate.server.routes.parsing import ServicesOf

router = Router("metrics")


@router.put("/runs/{run}/journals/{writer}/{stream}", Right.CHANGE_RUNS, AppendedBytes, openapi_extra=BYTES_IN)
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
