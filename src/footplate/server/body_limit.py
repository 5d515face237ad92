"""A limit on request bodies: all but those of blobs, which are streamed, are read into memory whole."""

from __future__ import annotations

import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from footplate.errors import InvalidInput
from footplate.server.responses import answer_error

LARGEST_BODY = 64 << 20
"""Far more than our own clients send at once (1 MiB of a log), and little enough for the server's memory."""


class BodyLimit:
    """Rejects larger bodies: at once if they announce their length, otherwise when they have grown too long."""

    def __init__(self, app: ASGIApp, prefix: str, largest: int = LARGEST_BODY) -> None:
        self._app = app
        self._streamed = re.compile(re.escape(prefix) + r"/blobs/[^/]+")
        self._largest = largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or (scope["method"] == "PUT" and self._streamed.fullmatch(str(scope["path"]))):
            await self._app(scope, receive, send)
            return
        announced = next((bytes(v) for n, v in scope["headers"] if n == b"content-length"), b"0")
        if announced.isdigit() and int(announced) > self._largest:
            await answer_error(self._too_large(), 413)(scope, receive, send)
            return
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._largest:
                raise self._too_large()
            return message

        await self._app(scope, counted, send)

    def _too_large(self) -> InvalidInput:
        return InvalidInput(
            f"the body of this request has more than {self._largest} bytes", "send large content as blobs, in pieces"
        )
