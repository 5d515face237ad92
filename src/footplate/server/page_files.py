"""The files of the page, built by `hatch_build.py` into the package. Names are looked up, never joined to a path."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from footplate.errors import NotAllowed
from footplate.server.browser import PAGE_HEADERS, BrowserRules
from footplate.server.refusals import TRACKING, TRANSFERS

API = "/api/"
_FOLDER = Path(__file__).parents[1] / "page"
INDEX = "/index.html"
_HASHED = "/assets/"
_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".woff2": "font/woff2",
}
"""Types by ending; those of the machine (`mimetypes`) may be wrong, and `nosniff` would break the page."""

_UNBUILT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Footplate</title>
<h1>The page is not built</h1>
<p>This installation of Footplate contains no page, because Node or the network was missing when it was built.</p>
<p>In a checkout, run <code>make page</code>. Otherwise install Footplate again:
<code>pip install --force-reinstall --no-cache-dir footplate</code>.</p>
<p>Everything else works: see <code>footplate --help</code>.</p>
"""


class PageFile(NamedTuple):
    content: bytes
    compressed: bytes | None
    type: str
    etag: str


class PageFiles:
    """Answers requests outside of the API with files of the page; other paths are views of the page itself."""

    def __init__(self, app: ASGIApp, rules: BrowserRules) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith((API, TRACKING, TRANSFERS)):
            await self._app(scope, receive, send)
            return
        try:
            self._rules.check_host(scope)
        except NotAllowed as error:
            await Response(f"{error}\n", error.status, dict(PAGE_HEADERS), "text/plain")(scope, receive, send)
            return
        await answer_file(scope)(scope, receive, send)


def answer_file(scope: Scope) -> Response:
    path = str(scope["path"])
    if scope["method"] not in ("GET", "HEAD"):
        return Response("this page is only read\n", 405, {"allow": "GET, HEAD", **PAGE_HEADERS}, "text/plain")
    file = page().get(path)
    if file is None and path.startswith(_HASHED):
        return Response("there is no such file\n", 404, dict(PAGE_HEADERS), "text/plain")
    if file is None:
        path = INDEX
        file = page()[INDEX]
    headers = {
        **PAGE_HEADERS,
        "etag": file.etag,
        "vary": "accept-encoding",
        "cache-control": "public, max-age=31536000, immutable" if path.startswith(_HASHED) else "no-cache",
    }
    sent = {bytes(name).lower(): bytes(value) for name, value in scope["headers"]}
    if sent.get(b"if-none-match") == file.etag.encode():
        return Response(status_code=304, headers=headers)
    content = file.content
    if file.compressed is not None and b"gzip" in sent.get(b"accept-encoding", b""):
        headers["content-encoding"] = "gzip"
        content = file.compressed
    return Response(content, 200, headers, file.type)


@lru_cache(maxsize=1)
def page() -> Mapping[str, PageFile]:
    """Return all files of the built page by path; an explanation where it is not built."""
    paths = [path for path in _FOLDER.rglob("*") if path.is_file()]
    built = {f"/{path.relative_to(_FOLDER).as_posix()}": _file(path.read_bytes(), path.suffix) for path in paths}
    return {INDEX: _file(_UNBUILT.encode(), ".html"), **built}


def _file(content: bytes, ending: str) -> PageFile:
    kind = _TYPES.get(ending, "application/octet-stream")
    compressed = gzip.compress(content, 9, mtime=0) if kind != "font/woff2" else None
    return PageFile(content, compressed, kind, f'"{hashlib.sha256(content).hexdigest()[:32]}"')
