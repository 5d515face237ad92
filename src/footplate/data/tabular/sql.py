"""The rows of a SQL query, in batches, from any database that SQLAlchemy supports."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from footplate.data.tabular.arrow import pa
from footplate.data.tabular.report import ReadReport
from footplate.domain.data import StoreSpec
from footplate.domain.tables import Expression, Json
from footplate.errors import InvalidInput, Unavailable

_ROWS = 20_000
_DRIVERS = {
    "sqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mssql": "mssql+pymssql",
}


def database_url(spec: StoreSpec) -> str:
    """Return SQLAlchemy's URL of a database, including the password."""
    place = spec.location
    dialect = spec.location["dialect"]
    if dialect not in _DRIVERS:
        raise InvalidInput(f"{dialect!r} is not a supported dialect", f"the dialects are {', '.join(_DRIVERS)}")
    host = place.get("host") or ""
    socket = host.startswith("/")  # the directory of a Unix socket cannot be the host part of a URL
    url = sa.URL.create(
        _DRIVERS[dialect],
        username=spec.credentials.get("username"),
        password=spec.credentials.get("password"),
        host=None if socket else host or None,
        port=int(place["port"]) if place.get("port") else None,
        database=place.get("database"),
        query={"host": host} if socket else {},
    )
    return url.render_as_string(hide_password=False)


class Query:
    """A query. `url` is SQLAlchemy's; it may contain a password and is never shown."""

    def __init__(self, url: str, options: Json) -> None:
        try:
            self._engine = sa.create_engine(url, poolclass=sa.NullPool)
        except (ArgumentError, NoSuchModuleError, ImportError) as error:
            raise InvalidInput(
                f"the database cannot be used from here ({type(error).__name__})",
                "install its driver alongside Footplate, as in: pip install 'footplate[postgres]'",
            ) from None
        self._text: str = options["query"]
        self._timeout_s: float = options.get("timeout_s", 30)

    def schema(self) -> Any:
        """Return the columns, with the types of the first rows."""
        for block, names in self._blocks(_ROWS):
            return pa.schema([(name, _guess([row[at] for row in block]).type) for at, name in enumerate(names)])
        raise InvalidInput("the query returns no columns", "use a SELECT query")

    def read(self, index: int, schema: Any, filters: list[Expression], report: ReadReport) -> Iterator[Any]:
        for block, names in self._blocks(_ROWS):
            positions = [names.index(name) for name in schema.names]
            arrays = [_array([row[at] for row in block], field.type) for at, field in zip(positions, schema)]
            yield pa.record_batch(arrays, schema=schema)

    def _blocks(self, rows: int) -> Iterator[tuple[list[Any], list[str]]]:
        with self._connect() as connection:
            try:
                if connection.dialect.name == "postgresql":
                    connection.execute(sa.text(f"SET LOCAL statement_timeout = {int(self._timeout_s * 1000)}"))
                # Run the text verbatim: `:name` is not a parameter, and `%` needs no escaping.
                streaming = connection.execution_options(stream_results=True, max_row_buffer=rows, no_parameters=True)
                result = streaming.exec_driver_sql(self._text)
                if not result.returns_rows:
                    raise InvalidInput("the query returns no rows", f"use a SELECT query; this was: {self._text[:500]}")
                names = list(result.keys())
                block = list(result.fetchmany(rows))
                yield block, names
                while block := list(result.fetchmany(rows)):
                    yield block, names
            except SQLAlchemyError as error:
                why = getattr(error, "orig", None) or type(error).__name__
                raise InvalidInput(f"the query failed: {why}", f"the query was: {self._text[:500]}") from None

    def _connect(self) -> sa.Connection:
        try:
            return self._engine.connect()
        except SQLAlchemyError as error:
            why = getattr(error, "orig", None) or type(error).__name__
            raise Unavailable(
                f"the database cannot be reached: {why}", "is it running, and are its credentials correct?"
            ) from None


def _guess(values: list[Any]) -> Any:
    plain = [float(value) if isinstance(value, Decimal) else value for value in values]
    try:
        guessed = pa.array(plain)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return _array(plain, pa.string())
    return _array(plain, pa.string()) if pa.types.is_null(guessed.type) else guessed


def _array(values: list[Any], wanted: Any) -> Any:
    try:
        return pa.array([float(v) if isinstance(v, Decimal) else v for v in values], wanted)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        if not pa.types.is_string(wanted):
            raise InvalidInput(
                f"a column of the query is {wanted} in its first rows but differs later",
                "cast it in the query, as in: SELECT CAST(x AS TEXT)",
            ) from None
        return pa.array([None if v is None else str(v) for v in values], wanted)
