"""A store whose database was lost or damaged: an error, never an empty answer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from footplate.errors import Broken
from footplate.storage import Storage


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Provide a home with a database that has outgrown SQLite's log, and the folder of a run."""
    Storage.open(tmp_path).close()
    (tmp_path / "runs" / "r1" / "logs").mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize("damage", ["emptied", "deleted"])
def test_lost_database_of_a_home_with_runs_is_an_error(home: Path, damage: str) -> None:
    for name in ("footplate.db-wal", "footplate.db-shm"):
        (home / name).unlink(missing_ok=True)
    if damage == "emptied":
        os.truncate(home / "footplate.db", 0)
    else:
        (home / "footplate.db").unlink()
    for _ in range(2):
        with pytest.raises(Broken, match=r"footplate\.db is empty or missing, but .* has runs"):
            Storage.open(home)


def test_overwritten_database_is_an_error(home: Path) -> None:
    (home / "footplate.db").write_bytes(b"not a database" * 1000)
    with pytest.raises(Broken, match="file is not a database"):
        Storage.open(home)


def test_home_without_runs_gets_a_new_database(tmp_path: Path) -> None:
    Storage.open(tmp_path).close()
    (tmp_path / "footplate.db").unlink()
    Storage.open(tmp_path).close()
