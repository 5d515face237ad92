from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from footplate.api.blobs import GRACE_SECONDS, MISSING_AT_ONCE
from footplate.domain.replies import CollectedGarbage, MissingBlobs
from footplate.errors import Unavailable
from footplate.server.openapi import BYTES_IN, BYTES_OUT, Router
from footplate.server.responses import answer
from footplate.server.rights import Right
from footplate.server.routes.parsing import Body, ServicesOf

router = Router("blobs")

_STALLED_SECONDS = 120.0
_UPLOADS = ThreadPoolExecutor(max_workers=64, thread_name_prefix="upload")
"""A pool of its own: an upload holds a thread while its sender takes time, and other requests must not wait for it."""


class Digests(Body):
    digests: Annotated[list[str], Field(max_length=MISSING_AT_ONCE)]


class GarbageRequest(Body):
    older_than: Annotated[float, Field(ge=0)] = GRACE_SECONDS
    dry_run: bool = False


@router.post("/blobs/missing", Right.STORE_BLOBS, MissingBlobs)
def find_missing_blobs(body: Digests, services: ServicesOf) -> Response:
    """Return which of these digests the store lacks."""
    return answer(MissingBlobs(tuple(services.files.missing(body.digests)), services.files.has_lost_blobs()))


@router.post("/blobs/collect-garbage", Right.MANAGE_SERVER, CollectedGarbage)
def collect_garbage(body: GarbageRequest, services: ServicesOf) -> Response:
    """Remove blobs that nothing refers to and nobody asked about for `older_than` seconds."""
    return answer(services.files.collect_garbage(body.older_than, body.dry_run))


@router.put("/blobs/{digest}", Right.STORE_BLOBS, status_code=204, openapi_extra=BYTES_IN)
async def put_blob(digest: str, request: Request, services: ServicesOf) -> None:
    """Store a blob. The storing thread requests one piece after another, so a large blob is never in memory whole."""
    loop, stream = asyncio.get_running_loop(), request.stream()

    def pieces() -> Iterator[bytes]:
        while (piece := asyncio.run_coroutine_threadsafe(_next_piece(stream), loop).result()) is not None:
            yield piece

    await loop.run_in_executor(_UPLOADS, services.files.put_blob, digest, pieces())


async def _next_piece(stream: AsyncIterator[bytes]) -> bytes | None:
    try:
        return await asyncio.wait_for(anext(stream, None), _STALLED_SECONDS)
    except asyncio.TimeoutError:  # the name in Python 3.10, where it differs from the built-in TimeoutError
        raise Unavailable(f"nothing was sent for {_STALLED_SECONDS:g} s", "send the blob again") from None


@router.get("/blobs/{digest}", Right.READ_BLOBS, response_class=StreamingResponse, responses=BYTES_OUT)
def get_blob(digest: str, services: ServicesOf) -> Response:
    """Return the content of a blob."""
    return StreamingResponse(services.files.read_blob(digest), media_type="application/octet-stream")
