"""The first middleware: it counts requests, and rejects them once the server has decided to stop.

It also rejects long polls of people while too many are pending, so that there is always room for those of agents.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from footplate.errors import Unavailable
from footplate.server.hub import stopping
from footplate.server.refusals import refuse


class Gate:
    """State shared by all listeners of a server. It lives on the event loop and needs no lock."""

    def __init__(self, on_stop: Callable[[], None] | None = None, most_waiting: float = math.inf) -> None:
        self.open = True
        self.most_waiting = most_waiting
        self.inside = 0
        self.last = time.monotonic()
        self._on_stop = on_stop

    def idle_seconds(self) -> float:
        return 0.0 if self.inside else time.monotonic() - self.last

    def stop(self) -> None:
        """Request the end of the whole server; return at once."""
        if self._on_stop is not None:
            self._on_stop()


class GateMiddleware:
    """The gate as plain ASGI: Starlette's base class for middleware adds a task and a stream to every request."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gate = self._gate
        if not gate.open:
            await refuse(stopping(), scope)(scope, receive, send)
            return
        is_long_poll = b"wait=" in scope.get("query_string", b"")
        if gate.inside >= gate.most_waiting and is_long_poll and "/nodes/" not in scope.get("path", ""):
            hint = "wait less often, or raise the server's limit of open files"
            error = Unavailable(f"the server has {gate.inside} requests pending", hint)
            await refuse(error, scope)(scope, receive, send)
            return
        gate.inside += 1
        try:
            await self._app(scope, receive, send)
        finally:
            gate.inside -= 1
            gate.last = time.monotonic()
