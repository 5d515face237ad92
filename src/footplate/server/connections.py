"""Limits on connections: how many there may be, and how long a peer may take to send a request.

A connection is idle while the server owes it no response. When there are too many, the server closes the idle one that
has waited longest, of the peer that has most of them: a flood displaces itself, and agents and people get through.
Clients of ours repeat a request whose connection was closed.
"""

from __future__ import annotations

import asyncio
import logging
import resource
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from footplate.errors import InvalidInput
from footplate.server.peers import STATE, Peer, peer_of

log = logging.getLogger(__name__)

HEADER_SECONDS = 20.0
"""Seconds until the head of a request must have arrived, from the connection's start or the request's first byte."""

BODY_SECONDS = 60.0
"""Seconds of silence in the middle of a request's body."""

MOST_CONNECTIONS = 8192
BACKLOG = 64
"""Connections that the event loop accepts at once, before the first of them can be closed."""

CONNECTION = "connection"
"""The key of the connection in the state of a request."""

PENDING = 4096
"""Connections that the kernel keeps for a server that is busy."""


def most_connections() -> int:
    """Return how many connections the limit of open files allows: the rest is for files, databases and children."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return min(MOST_CONNECTIONS, max(32, int(limit * 0.6) - 2 * BACKLOG))


class ConnectionPool:
    """The open connections of all listeners of a server. It lives on the event loop and needs no lock."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._peers: dict[HttpConnection, str] = {}
        self._idle: dict[str, dict[HttpConnection, None]] = {}  # by peer, the oldest first

    def __len__(self) -> int:
        return len(self._peers)

    def add(self, connection: HttpConnection, peer: str) -> None:
        self._peers[connection] = peer
        self.note_idle(connection)
        if len(self._peers) > self._limit:
            self._close_one(connection)

    def remove(self, connection: HttpConnection) -> None:
        self.note_busy(connection)
        self._peers.pop(connection, None)

    def note_idle(self, connection: HttpConnection) -> None:
        if connection in self._peers:
            self._idle.setdefault(self._peers[connection], {})[connection] = None

    def note_busy(self, connection: HttpConnection) -> None:
        peer = self._peers.get(connection)
        waiting = self._idle.get(peer) if peer is not None else None
        if peer is not None and waiting is not None:
            waiting.pop(connection, None)
            if not waiting:
                del self._idle[peer]

    def _close_one(self, newest: HttpConnection) -> None:
        greediest = max(self._idle, key=lambda peer: len(self._idle[peer]))
        victim = next(iter(self._idle[greediest]))
        others = " and refused a new one" if victim is newest else ""
        log.warning("too many connections: closed the oldest idle one of %s%s", greediest, others)
        self.remove(victim)
        victim.transport.abort()


class HttpConnection(HttpToolsProtocol):
    """A connection that is closed when its peer takes too long, or when the pool needs its place."""

    def __init__(self, config: ServerConfig, *arguments: Any, **named: Any) -> None:
        super().__init__(config, *arguments, **named)
        self._pool = config.pool
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        self._expect_more(HEADER_SECONDS)
        peer = peer_of(transport)
        self.app_state = {**self.app_state, STATE: peer, CONNECTION: self}
        self._pool.add(self, _name(peer, transport))

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_nothing()
        self._pool.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.transport.is_closing():
            self._expect_nothing()
        elif self.cycle and not self.cycle.response_complete:  # it is None before the first request
            self._expect_nothing()
            if self.cycle.more_body:
                self._expect_more(BODY_SECONDS)
        elif self._timer is None:  # half a head: further pieces of it do not extend the time
            self._expect_more(HEADER_SECONDS)

    def on_headers_complete(self) -> None:
        self._pool.note_busy(self)
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._expect_nothing()
        if not self.pipeline:
            self._pool.note_idle(self)

    def hand_over(self, take: Callable[[int], None]) -> None:
        """Give the socket of this connection to another process: `take` gets its descriptor, and raises to refuse it.

        Nothing more is read here, and the connection stays open: the other process has a descriptor of its own.
        """
        if self.transport.get_extra_info("ssl_object") is not None:
            raise InvalidInput("an encrypted connection cannot be handed over", "put the TLS before this server")
        self.transport.pause_reading()
        try:
            take(self.transport.get_extra_info("socket").fileno())
        except BaseException:
            self.transport.resume_reading()
            raise
        self.transport.abort()

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: the route decides about requests for another protocol."""

    def _expect_more(self, seconds: float) -> None:
        self._timer = self.loop.call_later(seconds, self._time_out)

    def _expect_nothing(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_out(self) -> None:
        self._timer = None
        if self.flow.read_paused:  # the server itself is slow
            self._expect_more(BODY_SECONDS)
        else:
            self.transport.abort()


class ServerConfig(uvicorn.Config):
    """uvicorn's configuration with the pool that all listeners share."""

    def __init__(self, app: Any, pool: ConnectionPool, **options: Any) -> None:
        super().__init__(app, http=HttpConnection, backlog=BACKLOG, **options)
        self.pool = pool


def _name(peer: Peer | None, transport: asyncio.Transport) -> str:
    """Return the owner of a connection: the address of a machine, or a process of this one."""
    if peer is None:
        return str((transport.get_extra_info("peername") or ("?",))[0])
    return f"process {peer.pid}"
