"""Transactions, with another process on the same database."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import event, text

from footplate.storage.database import Database


@pytest.fixture
def address(tmp_path: Path) -> str:
    address = f"sqlite:///{tmp_path / 'a.db'}"
    database = Database(address)
    with database.write() as connection:
        connection.execute(text("CREATE TABLE counter (n INTEGER)"))
        connection.execute(text("INSERT INTO counter VALUES (0)"))
    database.close()
    return address


def test_two_readers_that_write_lose_nothing(address: str) -> None:
    """Each has its own engine, so that only SQLite separates them, as with two processes."""
    start = threading.Barrier(4)

    def count(_: int) -> None:
        database = Database(address)
        start.wait(120)
        for _ in range(25):
            with database.write() as connection:
                n = connection.execute(text("SELECT n FROM counter")).scalar_one()
                connection.execute(text("UPDATE counter SET n = :n"), {"n": n + 1})
        database.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count, range(4)))
    database = Database(address)
    with database.read() as connection:
        assert connection.execute(text("SELECT n FROM counter")).scalar_one() == 100
    database.close()


def test_a_failed_write_changes_nothing(address: str) -> None:
    database = Database(address)
    with pytest.raises(ZeroDivisionError), database.write() as connection:
        connection.execute(text("UPDATE counter SET n = 5"))
        connection.execute(text("CREATE TABLE other (n INTEGER)"))
        raise ZeroDivisionError
    with database.read() as connection:
        assert connection.execute(text("SELECT n FROM counter")).scalar_one() == 0
        assert connection.execute(text("SELECT count(*) FROM sqlite_master WHERE name = 'other'")).scalar_one() == 0
    database.close()


def test_a_reader_sees_one_moment_and_blocks_nobody(address: str) -> None:
    database = Database(address)
    with database.read() as reader:
        assert reader.execute(text("SELECT n FROM counter")).scalar_one() == 0
        with database.write() as writer:
            writer.execute(text("UPDATE counter SET n = 5"))
        assert reader.execute(text("SELECT n FROM counter")).scalar_one() == 0
    with database.read() as reader:
        assert reader.execute(text("SELECT n FROM counter")).scalar_one() == 5
    database.close()


def test_sqlite_has_the_settings_for_safety(address: str) -> None:
    database = Database(address)
    with database.read() as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")
        }
        assert found == {"journal_mode": "wal", "synchronous": 1}
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
    database.close()


def test_a_new_file_is_opened_by_many_at_once(tmp_path: Path) -> None:
    for number in range(60):  # two connections rarely meet at the moment that matters
        together = threading.Barrier(10)

        def open_one(_: int, path: Path = tmp_path / f"{number}.db", together: threading.Barrier = together) -> object:
            database = Database(path)
            event.listen(database.engine, "connect", lambda *_: together.wait(), insert=True)
            with database.read() as connection:
                return connection.exec_driver_sql("PRAGMA journal_mode").scalar()

        with ThreadPoolExecutor(10) as pool:
            assert set(pool.map(open_one, range(10))) == {"wal"}
