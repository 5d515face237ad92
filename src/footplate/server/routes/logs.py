from __future__ import annotations

import math
from typing import Annotated, Literal

from fastapi import Query, Response

from footplate.domain.replies import LogMatches, LogPage, Moment
from footplate.errors import InvalidInput
from footplate.server.openapi import Router
from footplate.server.responses import answer
from footplate.server.rights import Right
from footplate.server.routes.parsing import FilePath, ServicesOf
from footplate.storage.log_reading.log_reader import LogPlace

router = Router("logs")
_Offset = Annotated[int, Query(ge=0)]


@router.get("/runs/{run}/log-lines/{path:any}", Right.READ_RUNS, LogPage)
def read_log_lines(
    run: str,
    path: FilePath,
    services: ServicesOf,
    line: Annotated[int | None, Query(ge=0)] = None,
    offset: Annotated[int | None, Query(ge=0)] = None,
    time: float | None = None,
    limit: Annotated[int, Query(ge=1, le=2000)] = 200,
    back: bool = False,
) -> Response:
    """Return lines of a log from a line, an offset or a time on; with `back`, those before it; by default, the last.

    A page may have fewer lines than `limit` if they are long: continue with `offset` as the end of the page.
    """
    if sum(place is not None for place in (line, offset, time)) > 1:
        raise InvalidInput("line, offset and time exclude each other", "give one of them")
    return answer(services.logs.page(run, path, LogPlace(line, offset, time), limit, back))


@router.get("/runs/{run}/log-search/{path:any}", Right.READ_RUNS, LogMatches)
def search_log(
    run: str,
    path: FilePath,
    services: ServicesOf,
    pattern: str = "",
    mode: Literal["text", "regex", "errors"] = "text",
    case: bool = False,
    offset: _Offset = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Find lines of a log with a text, a regular expression, or those that begin a report of an error.

    A search takes at most three seconds; `next` is the offset to go on from, also if nothing matched so far.
    """
    return answer(services.logs.search(run, path, mode, pattern, case, offset, limit))


@router.get("/runs/{run}/moment", Right.READ_RUNS, Moment)
def get_moment(
    run: str, services: ServicesOf, time: float, lines: Annotated[int, Query(ge=1, le=200)] = 10
) -> Response:
    """Return what happened at a time: lines of all logs around it, samples of the machines within a minute, events
    within five minutes, and the newest checkpoint saved before it.
    """
    if not math.isfinite(time):
        raise InvalidInput(f"time is {time}", "give seconds since 1970")
    return answer(services.moments.at(run, time, lines))
