"""The storage suite, on SQLite and on a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.postgres import PostgresServer
from support.storage_suite import StorageSuite


class TestSqlite(StorageSuite):
    @pytest.fixture
    def address(self) -> None:
        return None


@pytest.mark.postgres
class TestPostgres(StorageSuite):
    @pytest.fixture
    def address(self, postgres: PostgresServer) -> Iterator[str]:
        address = postgres.new_database()
        yield address
        postgres.drop_database(address)
