"""A hundred thousand runs without running them: the rows of one real run, copied with other names and values."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

Values = dict[str, Any]


def copy_rows(
    database: sqlite3.Connection, table: str, where: Values, count: int, change: Callable[[Values, int], None]
) -> None:
    """Insert `count` copies of each row that matches `where`; `change(row, i)` makes the i-th copy unique."""
    condition = " AND ".join(f"{name} = ?" for name in where)
    cursor = database.execute(f"SELECT * FROM {table} WHERE {condition}", tuple(where.values()))
    names = [column[0] for column in cursor.description]
    originals = [dict(zip(names, row, strict=True)) for row in cursor]
    marks = ", ".join("?" * len(names))
    quoted = ", ".join(f'"{name}"' for name in names)

    def rows() -> Any:
        for number in range(1, count + 1):
            for original in originals:
                row = dict(original)
                change(row, number)
                yield tuple(row.values())

    database.executemany(f"INSERT INTO {table} ({quoted}) VALUES ({marks})", rows())


def open_database(path: Path) -> sqlite3.Connection:
    """Open the database, which is safe only while its server does not run. Constraints are checked."""
    database = sqlite3.connect(path)
    database.execute("PRAGMA foreign_keys = ON")
    return database
