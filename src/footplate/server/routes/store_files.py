from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import Query, Request, Response
from fastapi.responses import StreamingResponse

from footplate.domain.data import StoreEntry
from footplate.domain.replies import EntryFields, FolderListing, StoredBytes
from footplate.server.openapi import BYTES_IN, BYTES_OUT, Router
from footplate.server.responses import answer, encode
from footplate.server.rights import Right
from footplate.server.routes.parsing import FilePath, FilePrefix, ServicesOf, start_items

router = Router("datastores")

_FILES = "/workspaces/{workspace}/datastores/{name}/files"
_PAGES: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/x-ndjson": {"schema": {"type": "array", "items": {"type": "array"}}}}}
}
_RANGE = re.compile(r"bytes=(\d+)-(\d*)")


@router.get(_FILES, Right.READ_STORE_FILES, FolderListing, responses=_PAGES)
def list_store_files(
    workspace: str, name: str, services: ServicesOf, prefix: FilePrefix, children: bool = False
) -> Response:
    """List files, or with `children` one folder.

    The list has one line per page, `[[path, size, etag, modified], …]`, then the number of files; a folder is JSON.
    """
    if children:
        folder = services.store_files.children(workspace, name, prefix)
        return answer(FolderListing(tuple(sorted(folder.folders)), tuple(entry[:4] for entry in sorted(folder.files))))
    pages = start_items(services.store_files.list(workspace, name, prefix))
    return StreamingResponse(_lines(pages), media_type="application/x-ndjson")


def _lines(pages: Iterator[list[StoreEntry]]) -> Iterator[bytes]:
    count = 0
    for page in pages:
        count += len(page)
        yield encode([entry[:4] for entry in page]) + b"\n"
    yield b"%d\n" % count


@router.get(_FILES + "/{path:any}", Right.READ_STORE_FILES, EntryFields, responses=BYTES_OUT)
def read_store_file(
    workspace: str, name: str, path: FilePath, request: Request, services: ServicesOf, stat: bool = False
) -> Response:
    """Return a file, or the part that a `Range` header requests; with `stat`, its entry."""
    if stat:
        return answer(services.store_files.stat(workspace, name, path)[:4])
    file = services.store_files.read(workspace, name, path)
    etag = f'"{file.entry.etag}"'
    size = file.entry.size
    headers = {"etag": etag, "accept-ranges": "bytes"}
    byte_range = _RANGE.fullmatch(request.headers.get("range", ""))
    if byte_range is None or request.headers.get("if-range", etag) != etag:
        headers["content-length"] = str(size)
        return StreamingResponse(file.read(0, size), 200, headers, "application/octet-stream")
    start = int(byte_range[1])
    end = min(int(byte_range[2]) + 1 if byte_range[2] else size, size)
    if start >= end:
        headers["content-range"] = f"bytes */{size}"
        return StreamingResponse(file.read(0, 0), 416, headers)
    headers.update({"content-range": f"bytes {start}-{end - 1}/{size}", "content-length": str(end - start)})
    return StreamingResponse(file.read(start, end), 206, headers, "application/octet-stream")


@router.put(_FILES + "/{path:any}", Right.WRITE_STORE_FILES, StoredBytes, openapi_extra=BYTES_IN)
async def write_store_file(
    workspace: str,
    name: str,
    path: FilePath,
    request: Request,
    services: ServicesOf,
    if_absent: bool = False,
    upload: str | None = None,
    offset: Annotated[int, Query(ge=0)] = 0,
    size: Annotated[int, Query(ge=0)] = 0,
) -> Response:
    """Write a file, or with `upload` the part at `offset` of a file of `size` bytes; return how many bytes it has."""
    data = await request.body()
    files = services.store_files
    if upload is None:
        done = await asyncio.to_thread(files.put, workspace, name, path, data, if_absent)
    else:
        done = await asyncio.to_thread(files.append, workspace, name, path, upload, offset, size, data, if_absent)
    return answer(StoredBytes(done.size, done.entry[:4] if done.entry else None))


@router.delete(_FILES + "/{path:any}", Right.WRITE_STORE_FILES, status_code=204)
def delete_store_file(workspace: str, name: str, path: FilePath, services: ServicesOf) -> None:
    """Delete a file of a built-in datastore."""
    services.store_files.delete(workspace, name, path)
