"""Connections and transactions: SQLite in WAL mode, or PostgreSQL through psycopg.

`read()` is a transaction that sees one moment; `write()` commits as a whole or not at all. On SQLite writers queue at a
lock of this process: waiting there is fair and costs nothing, while waiting inside SQLite is a busy loop.

SQLAlchemy takes several times longer to build a statement, and to find it in its cache, than to execute it. So
statements that every run needs are constants with `bindparam`, beside the code that executes them.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    CursorResult,
    Engine,
    Executable,
    Row,
    Table,
    create_engine,
    event,
    select,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from footplate import backoff
from footplate.errors import InvalidInput
from footplate.storage.database_errors import translated

_BUSY_MILLISECONDS = 30_000
_CONNECTIONS_KEPT, _CONNECTIONS_MORE = 8, 56


class Database:
    """One engine for the life of the server, safe to use from any number of threads.

    `address`: an SQLAlchemy address, or the path of an SQLite file with any characters.
    """

    def __init__(self, address: str | Path) -> None:
        url = URL.create("sqlite", database=str(address)) if isinstance(address, Path) else _url(address)
        self.sqlite = url.get_backend_name() == "sqlite"
        self.address = url.render_as_string(hide_password=True)
        self._writers = threading.Lock()
        self.engine = _sqlite_engine(url) if self.sqlite else _postgres_engine(url)
        self._inserts_of_new: dict[Table, Any] = {}

    @contextmanager
    def read(self) -> Generator[Connection, None, None]:
        with translated(), self.engine.connect() as connection:
            yield connection

    def all(self, query: Executable, values: Mapping[str, Any] | None = None) -> Sequence[Row[Any]]:
        """Return the rows of a query, which is a transaction of its own."""
        with self.read() as connection:
            return connection.execute(query, values).all()

    def one(self, query: Executable, values: Mapping[str, Any] | None = None) -> Row[Any] | None:
        """Return the only row of a query, None without one."""
        with self.read() as connection:
            return connection.execute(query, values).one_or_none()

    @contextmanager
    def write(self) -> Generator[Connection, None, None]:
        """Open a transaction that is committed when the block succeeds. Do not nest them."""
        with translated():
            if not self.sqlite:
                with self.engine.begin() as connection:
                    yield connection
                return
            with self._writers, self.engine.connect() as plain:
                connection = plain.execution_options(footplate_write=True)
                with connection.begin():
                    yield connection

    def execute(self, change: Executable) -> int:
        """Execute a change, which is a transaction of its own; return the number of its rows."""
        with self.write() as connection:
            return connection.execute(change).rowcount

    def insert(self, table: Table) -> Any:
        """Return an INSERT with `on_conflict_do_update`, in this database's dialect."""
        # Load only the dialect that is used: the other one would cost the server memory for nothing.
        if self.sqlite:
            from sqlalchemy.dialects.sqlite import insert  # noqa: PLC0415  # see above
        else:
            from sqlalchemy.dialects.postgresql import insert  # noqa: PLC0415  # see above
        return insert(table)

    def insert_new(self, connection: Connection, table: Table, **values: Any) -> bool:
        """Insert the row unless its key or another unique value exists; return whether it was inserted."""
        if table not in self._inserts_of_new:
            self._inserts_of_new[table] = self.insert(table).on_conflict_do_nothing()
        # RETURNING is needed because PostgreSQL reports no row count for such an INSERT.
        options = {"preserve_rowcount": True}
        return connection.execute(self._inserts_of_new[table], values, execution_options=options).rowcount > 0

    def put(self, connection: Connection, table: Table, keys: Sequence[str], row: Mapping[str, Any]) -> None:
        """Insert the row, or replace the other columns of the one with the same keys; its creation time stays."""
        changes = {name: value for name, value in row.items() if name not in (*keys, "created")}
        statement = self.insert(table).values(**row)
        connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=changes))

    def hold(self, connection: Connection, column: Column[Any], value: Any) -> None:
        """Make other writers of this row wait until the transaction ends. On SQLite they wait anyway."""
        if not self.sqlite:
            connection.execute(select(column).where(column == value).with_for_update())

    def close(self) -> None:
        self.engine.dispose()


def named(table: Table, workspace: str, name: str | None) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return the conditions for what has this name in a workspace."""
    return table.c.workspace == workspace, table.c.name == name


def new_key(result: CursorResult[Any]) -> int:
    """Return the number that the database gave to the inserted row."""
    key = result.inserted_primary_key
    assert key is not None
    return int(key[0])


def _url(address: str) -> URL:
    try:
        url = make_url(address)
    except ArgumentError:
        raise InvalidInput("the database address cannot be understood", "write postgresql://user@host/name") from None
    backend = url.get_backend_name()
    if backend in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if backend == "sqlite":
        if not url.database or url.database == ":memory:":
            raise InvalidInput(f"database {address!r} is not a file", "write sqlite:////path/of/the/file.db")
        return url.set(drivername="sqlite")
    raise InvalidInput(
        f"databases of the kind {backend!r} are not supported", "use postgresql://user@host/name, or nothing for SQLite"
    )


def _sqlite_engine(url: URL) -> Engine:
    engine = create_engine(
        url, pool_size=_CONNECTIONS_KEPT, max_overflow=_CONNECTIONS_MORE, pool_timeout=60, query_cache_size=300
    )
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # The driver's own transaction handling commits before some statements; we begin and end transactions explicitly.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
    _switch_to_wal(cursor)
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _switch_to_wal(cursor: sqlite3.Cursor) -> None:
    """Switch, or find that it is done. SQLite fails at once where two connections would wait for each other."""
    deadline = time.monotonic() + _BUSY_MILLISECONDS / 1000
    pauses = backoff.Backoff(0.005, 0.5, jitter=0.5)
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() >= deadline:
                raise
        pauses.wait()


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that begins as a reader and then writes fails at once if another process wrote in between.
    write = connection.get_execution_options().get("footplate_write", False)
    # The driver itself: every transaction begins here, and SQLAlchemy's detour takes five times as long.
    driver: Any = connection.connection.driver_connection
    driver.execute("BEGIN IMMEDIATE" if write else "BEGIN")


def _postgres_engine(url: URL) -> Engine:
    try:
        return create_engine(
            url, pool_size=_CONNECTIONS_KEPT, max_overflow=_CONNECTIONS_MORE - 24, pool_timeout=60, pool_pre_ping=True
        )
    except ModuleNotFoundError as error:
        raise InvalidInput(
            f"PostgreSQL needs a driver that is not installed ({error.name})", "pip install 'footplate[postgres]'"
        ) from None
