"""Bodies of requests and responses, in pieces: files are never whole in memory."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from footplate.domain.records import FileView
from footplate.services.files import FileService

_PIECE = 1 << 20
_RANGE = re.compile(rb"bytes=(\d+)-(\d*)")


async def receive_body(receive: Receive) -> bytes:
    """Return the whole body; the limit on bodies has checked its size."""
    pieces: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(pieces) if len(pieces) > 1 else pieces[0]


async def receive_file(receive: Receive, path: Path) -> str:
    """Write the body to a file, replacing it; return the MD5 of the bytes, which is the tag of a part."""
    digest = hashlib.md5(usedforsecurity=False)
    partial = path.with_name(f"{path.name}.part")
    with partial.open("wb", buffering=0) as out:
        pieces: list[bytes] = []
        size = 0
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            more = message.get("more_body", False)
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            if size >= _PIECE or not more:
                await asyncio.to_thread(_write, out, digest, b"".join(pieces))
                pieces = []
                size = 0
    partial.replace(path)
    return digest.hexdigest()


def _write(out: BinaryIO, digest: hashlib._Hash, data: bytes) -> None:  # pyright: ignore[reportPrivateUsage]
    digest.update(data)
    rest = memoryview(data)
    while rest:
        rest = rest[out.write(rest) :]


async def send_file(files: FileService, run: str, file: FileView, scope: Scope, send: Send) -> None:
    """Send a file, or the part of it that the request names."""
    start, end = _range(scope, file.size)
    is_part = end - start < file.size
    pieces = await asyncio.to_thread(files.read, run, file, start, end - start)
    headers = [
        (b"content-type", b"application/octet-stream"),
        (b"content-length", str(end - start).encode()),
        (b"accept-ranges", b"bytes"),
        (b"content-disposition", b"attachment"),
        (b"x-content-type-options", b"nosniff"),
    ]
    if is_part:
        headers.append((b"content-range", f"bytes {start}-{end - 1}/{file.size}".encode()))
    await send({"type": "http.response.start", "status": 206 if is_part else 200, "headers": headers})
    iterator = iter(pieces)
    while (piece := await asyncio.to_thread(_next, iterator)) is not None:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def _next(pieces: Iterator[bytes]) -> bytes | None:
    return next(pieces, None)


def _range(scope: Scope, size: int) -> tuple[int, int]:
    """Return the bytes that the request names; all of them without a range, or with one that makes no sense."""
    text = next((bytes(value) for name, value in scope["headers"] if name == b"range"), b"")
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        return 0, size
    start = int(match[1])
    end = min(size, int(match[2]) + 1) if match[2] else size
    return (start, end) if start < end else (0, size)
