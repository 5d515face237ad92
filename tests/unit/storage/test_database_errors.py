"""Every row of the error table, and real errors of the real drivers."""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import exc, text

from footplate.errors import Broken, Conflict, FootplateError, InvalidInput, OutOfSpace, Unavailable
from footplate.storage import database_errors
from footplate.storage.database import Database
from footplate.storage.database_errors import translate, translated


class DriverError(Exception):
    """An error with the attributes of psycopg's."""

    def __init__(self, words: str, sqlstate: str | None) -> None:
        super().__init__(words)
        self.sqlstate = sqlstate


def wrapped(error: Exception) -> exc.DBAPIError:
    return exc.DBAPIError("SELECT 1", {}, error)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("database or disk is full", OutOfSpace),
        ("database is locked", Unavailable),
        ("database table is locked: runs", Unavailable),
        ("disk I/O error", Broken),
        ("unable to open database file", Broken),
        ("attempt to write a readonly database", Broken),
        ("database disk image is malformed", Broken),
        ("file is not a database", Broken),
        ("string or blob too big", InvalidInput),
        ("something never heard of", Broken),
    ],
)
def test_sqlite_errors_are_translated(words: str, kind: type[FootplateError]) -> None:
    error = translate(wrapped(sqlite3.OperationalError(words)))
    assert type(error) is kind
    assert words in error.message
    assert error.hint


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("53100", OutOfSpace),
        ("53300", Unavailable),
        ("08006", Unavailable),
        ("28P01", Unavailable),
        ("3D000", Unavailable),
        ("40001", Unavailable),
        ("40P01", Unavailable),
        ("55P03", Unavailable),
        ("57P01", Unavailable),
        ("22021", InvalidInput),
        ("54000", InvalidInput),
        ("23505", Conflict),
        ("XX001", Broken),
        (None, Unavailable),
    ],
)
def test_postgres_errors_are_translated(state: str | None, kind: type[FootplateError]) -> None:
    error = translate(wrapped(DriverError("the server's words", state)))
    assert type(error) is kind
    assert "the server's words" in error.message
    assert error.hint


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, OutOfSpace),
        (errno.EDQUOT, OutOfSpace),
        (errno.EFBIG, OutOfSpace),
        (errno.ENOTDIR, Conflict),
        (errno.EISDIR, Conflict),
        (errno.ENAMETOOLONG, InvalidInput),
        (errno.EMFILE, Unavailable),
        (errno.ENFILE, Unavailable),
        (errno.ENOMEM, Unavailable),
        (errno.EIO, Broken),
        (errno.EACCES, Broken),
    ],
)
def test_system_errors_are_translated(number: int, kind: type[FootplateError]) -> None:
    error = translate(OSError(number, os.strerror(number), "/home/x"))
    assert type(error) is kind
    assert "/home/x" in error.message
    assert error.hint


def test_every_row_of_the_table_is_tested() -> None:
    """A row that is added without a test fails here."""
    assert {sign for sign, _, _ in database_errors._SQLITE} == {
        "database or disk is full", "database is locked", "table is locked", "disk i/o error", "readonly database",
        "unable to open database file", "malformed", "file is not a database", "too big",
    }  # fmt: skip
    assert set(database_errors._POSTGRES) == {"53100", "08", "28", "3D", "40", "53", "55", "57", "22", "54", "23"}
    assert len(database_errors._OS) == 9


def test_every_error_is_ours() -> None:
    ours = InvalidInput("ours", "as it is")
    assert translate(ours) is ours
    assert translate(exc.StatementError("bad value", "SELECT 1", {}, ours)) is ours
    assert type(translate(exc.TimeoutError("pool"))) is Unavailable
    assert type(translate(wrapped(sqlite3.IntegrityError("UNIQUE constraint failed: runs.id")))) is Conflict
    assert type(translate(OverflowError("too large"))) is InvalidInput
    assert type(translate(exc.InvalidRequestError("a mistake of ours"))) is Broken
    with pytest.raises(OutOfSpace), translated():
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(KeyError), translated():  # an error in our own code passes unchanged
        raise KeyError("x")


def test_a_database_that_cannot_grow_is_out_of_space(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")
    with database.write() as connection:
        connection.execute(text("CREATE TABLE t (x TEXT)"))
        connection.execute(text("INSERT INTO t VALUES ('kept')"))
    with pytest.raises(OutOfSpace, match="full"), database.write() as connection:
        connection.execute(text("PRAGMA max_page_count = 4"))
        connection.execute(text("INSERT INTO t VALUES ('small')"))
        connection.execute(text("INSERT INTO t VALUES (:x)"), {"x": "y" * 100_000})
    with database.read() as connection:
        assert connection.execute(text("SELECT x FROM t")).scalars().all() == ["kept"]
        assert connection.execute(text("PRAGMA integrity_check")).scalar() == "ok"
    database.close()


def test_a_file_that_is_not_a_database_is_broken(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text("this is a letter to my aunt, and not a database at all " * 100)
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")
    with pytest.raises(Broken, match="not a database"), database.read() as connection:
        connection.execute(text("SELECT 1"))


def test_an_unreachable_postgres_is_unavailable(tmp_path: Path) -> None:
    database = Database(f"postgresql://ann:secret@/x?host={tmp_path}")
    with pytest.raises(Unavailable, match="cannot be reached") as refused, database.read() as connection:
        connection.execute(text("SELECT 1"))
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("mysql://ann:secret@host/x", "mysql"),
        ("sqlite://", "is not a file"),
        ("sqlite:///:memory:", "is not a file"),
        ("not an address", "cannot be understood"),
    ],
)
def test_invalid_addresses_are_refused(address: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as refused:
        Database(address)
    assert "secret" not in str(refused.value)
