"""Parquet, JSON lines and SQL as sources."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from footplate.data.tabular.engine import Table
from footplate.data.tabular.sql import database_url
from footplate.domain.data import StoreSpec
from footplate.errors import InvalidInput, Unavailable
from support.postgres import PostgresServer
from support.table_tools import field, op, rows, where

from ....unit.data.tabular.test_formats import database, definition

__all__ = ["database"]  # fixtures


@pytest.mark.postgres
def test_a_postgresql_query(postgres: PostgresServer) -> None:
    address = sa.make_url(postgres.new_database())
    spec = StoreSpec(
        "sql",
        {"dialect": "postgresql", "host": str(postgres.folder), "database": str(address.database)},
        {"username": str(address.username)},
    )
    query = "SELECT n, n::numeric / 2 AS half, now() AS at, n % 2 = 0 AS even FROM generate_series(1, 50000) AS n"
    table = Table(definition("sql", where(op(">", field("half"), 24_999)), query=query), database=database_url(spec))
    assert {f.name: str(f.type) for f in table.schema if f.name != "at"} == {
        "n": "int64",
        "half": "double",
        "even": "bool",
    }
    assert [(r["n"], r["even"]) for r in rows(table)] == [(49_999, False), (50_000, True)]
    slow = definition("sql", query="SELECT pg_sleep(30)", timeout_s=0.2)
    with pytest.raises(InvalidInput, match="statement timeout"):
        Table(slow, database=database_url(spec))
    gone = StoreSpec("sql", {**spec.location, "host": "/nowhere"}, {"username": "me", "password": "hidden"})
    with pytest.raises(Unavailable, match="the database cannot be reached") as caught:
        Table(definition("sql", query="SELECT 1"), database=database_url(gone))
    assert "hidden" not in str(caught.value)
