from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Iterable
from typing import Annotated

from fastapi import Query
from fastapi.responses import StreamingResponse

from footplate.errors import NotFound, Unavailable
from footplate.server.hub import Hub
from footplate.server.openapi import EVENTS_OUT, Router
from footplate.server.rights import Right
from footplate.server.routes.parsing import HubOf, ServicesOf
from footplate.services import Services
from footplate.services.topics import EndpointChanged, MetricsArrived, RunChanged, Topic

router = Router("changes")

PAUSE = 0.25
"""Seconds between two messages: more often than that, nobody sees a difference."""

KEEP_ALIVE = 15.0
"""Seconds of silence after which an empty line shows that the connection still works."""

_EPOCH = secrets.token_hex(4)
"""Names this server process, because counts begin again with each."""


@router.get(
    "/workspaces/{workspace}/changes",
    Right.READ_WORKSPACE,
    response_class=StreamingResponse,
    responses=EVENTS_OUT,
)
async def follow_changes(
    workspace: str, services: ServicesOf, hub: HubOf, since: Annotated[str, Query(max_length=40)] = ""
) -> StreamingResponse:
    """Stream what changes in a workspace as server-sent events, for as long as the reader stays.

    Each event has the names of `runs`, of runs with new `metrics`, and of `endpoints`. `since` is the id of the last
    event that was read. An event `reset` means that changes were missed: read everything again.
    """
    await asyncio.to_thread(services.workspaces.get, workspace)
    return StreamingResponse(
        _events(hub, services, workspace, since), media_type="text/event-stream", headers={"cache-control": "no-store"}
    )


async def _events(hub: Hub, services: Services, workspace: str, since: str) -> AsyncIterator[bytes]:
    epoch, _, number = since.partition("-")
    seen = int(number) if epoch == _EPOCH and number.isdigit() else None
    if seen is None:
        seen = hub.changes(0)[0]
        yield _event("reset" if since else "begin", seen, {})
    while True:
        count, topics = hub.changes(seen)
        seen = count
        if topics is None:
            yield _event("reset", seen, {})
        elif changed := await asyncio.to_thread(_changed, topics, services, workspace):
            yield _event("changes", seen, changed)
            await asyncio.sleep(PAUSE)
        try:
            await hub.wait_for_any(seen, KEEP_ALIVE)
        except Unavailable:  # the server stops; the reader connects to the next one
            return
        if hub.changes(seen)[0] == seen:
            yield b":\n\n"


def _event(kind: str, count: int, data: dict[str, list[str]]) -> bytes:
    return f"event: {kind}\nid: {_EPOCH}-{count}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


def _changed(topics: Iterable[Topic], services: Services, workspace: str) -> dict[str, list[str]]:
    """Return the names of what changed in a workspace, by kind."""
    changed: dict[str, dict[str, None]] = {"runs": {}, "metrics": {}, "endpoints": {}}
    for topic in topics:
        if isinstance(topic, RunChanged | MetricsArrived):
            kind = "runs" if isinstance(topic, RunChanged) else "metrics"
            if _is_in(services, topic.run, workspace):
                changed[kind][topic.run] = None
        elif isinstance(topic, EndpointChanged) and topic.workspace == workspace:
            changed["endpoints"][topic.name] = None
    return {kind: list(names) for kind, names in changed.items() if names}


def _is_in(services: Services, run: str, workspace: str) -> bool:
    try:
        return services.store.runs.record(run).workspace == workspace
    except NotFound:  # it was deleted: whoever lists runs will not find it
        return True
