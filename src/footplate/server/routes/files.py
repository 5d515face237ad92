from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import Query, Request, Response
from fastapi.responses import StreamingResponse

from footplate.domain.records import FileView
from footplate.domain.replies import AddedFiles, AppendedBytes, LogOffset
from footplate.server.openapi import BYTES_IN, BYTES_OUT, Page, Router
from footplate.server.responses import answer, answer_list
from footplate.server.rights import Right
from footplate.server.routes.parsing import Body, FilePath, FilePrefix, ServicesOf, StrictFile

router = Router("files")


class NewFiles(Body):
    files: list[StrictFile]
    automatic: bool = False
    overwrite: bool = False
    key: str | None = None
    attempt: int | None = None


@router.get("/runs/{run}/files", Right.READ_RUNS, Page(FileView))
def list_files(run: str, services: ServicesOf, prefix: FilePrefix) -> Response:
    """List the artifacts and the logs of a run."""
    return answer_list(services.files.list(run, prefix))


@router.get("/runs/{run}/files/{path:any}", Right.READ_RUNS, response_class=StreamingResponse, responses=BYTES_OUT)
def read_file(
    run: str,
    path: FilePath,
    services: ServicesOf,
    offset: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int | None, Query(ge=0)] = None,
) -> Response:
    """Return a file of a run, or `limit` bytes of it from `offset`."""
    file = services.files.find(run, path)
    rest = max(0, file.size - offset)
    size = rest if limit is None else min(limit, rest)
    headers = {"content-length": str(size)}
    if file.digest is not None:
        headers["etag"] = f'"{file.digest}"'
    chunks = services.files.read(run, file, offset, limit)
    return StreamingResponse(chunks, media_type="application/octet-stream", headers=headers)


@router.get("/runs/{run}/archive", Right.READ_RUNS, response_class=StreamingResponse, responses=BYTES_OUT)
def read_archive(run: str, services: ServicesOf, prefix: FilePrefix) -> Response:
    """Return the files of a run whose paths begin with `prefix` as a zip archive."""
    chunks = services.files.archive(run, prefix)
    return StreamingResponse(chunks, media_type="application/octet-stream")


@router.post("/runs/{run}/files", Right.LOG_RUNS, AddedFiles)
def add_files(run: str, body: NewFiles, services: ServicesOf) -> Response:
    """Give names in the run to blobs that are in the store. A repeated `key` changes nothing.

    A name that exists is a conflict, replaced with `overwrite`, or skipped when the files are `automatic`.
    """
    stored, skipped = services.files.add(run, body.files, body.automatic, body.key, body.attempt, body.overwrite)
    return answer(AddedFiles(tuple(stored), tuple(skipped)))


@router.get("/runs/{run}/recent/{path:any}", Right.READ_RUNS, LogOffset)
def find_recent(run: str, path: FilePath, services: ServicesOf, age: Annotated[float, Query(ge=0)]) -> Response:
    """Return the offset of the first line of a log that arrived in the last `age` seconds; its size if none did."""
    return answer(LogOffset(services.files.recent(run, path, age)))


@router.put("/runs/{run}/logs/{path:any}", Right.LOG_RUNS, AppendedBytes, openapi_extra=BYTES_IN)
async def append_log(
    run: str,
    path: FilePath,
    request: Request,
    services: ServicesOf,
    offset: Annotated[int, Query(ge=0)] = 0,
    replace: bool = False,
    attempt: int | None = None,
) -> Response:
    """Append to a log the bytes that belong at `offset`; bytes that it has are skipped, a gap is a conflict.

    An agent names its `attempt`, and is refused once a node of a later one has joined.
    """
    data = await request.body()
    size = await asyncio.to_thread(services.files.append_log, run, path, offset, data, replace, attempt)
    return answer(AppendedBytes(size))
