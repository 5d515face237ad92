from __future__ import annotations

from typing import Any

from footplate.server import connections
from footplate.server.connections import BACKLOG, ConnectionPool, most_connections


class FakeConnection:
    """A connection that records that it was closed."""

    def __init__(self) -> None:
        self.transport: Any = self
        self.is_closed = False

    def abort(self) -> None:
        self.is_closed = True


def add(pool: Any, peer: str) -> FakeConnection:
    connection = FakeConnection()
    pool.add(connection, peer)
    return connection


def test_the_oldest_idle_connection_of_the_greediest_peer_gives_way() -> None:
    pool = ConnectionPool(4)
    agent, *greedy = [add(pool, peer) for peer in ("agent", "flood", "flood", "flood")]
    newest = add(pool, "person")
    assert [c.is_closed for c in (agent, *greedy, newest)] == [False, True, False, False, False]
    assert len(pool) == 4


def test_a_connection_with_a_pending_response_is_never_closed() -> None:
    pool: Any = ConnectionPool(2)
    busy = [add(pool, "people"), add(pool, "people")]
    for connection in busy:
        pool.note_busy(connection)
    refused = add(pool, "people")
    assert refused.is_closed and not any(connection.is_closed for connection in busy)
    pool.note_idle(busy[1])
    assert not add(pool, "person").is_closed and busy[1].is_closed


def test_a_closed_connection_is_forgotten() -> None:
    pool: Any = ConnectionPool(2)
    gone = add(pool, "a")
    pool.remove(gone)
    pool.note_idle(gone)
    pool.remove(gone)
    kept = [add(pool, "b"), add(pool, "c")]
    assert len(pool) == 2 and not any(connection.is_closed for connection in kept)


def test_files_and_children_keep_a_share_of_the_open_files() -> None:
    assert 32 <= most_connections() <= connections.MOST_CONNECTIONS
    assert BACKLOG < 100, "they are accepted before the limit is checked"
