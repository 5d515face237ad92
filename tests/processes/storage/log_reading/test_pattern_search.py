"""Regular expressions run in a process that ends in time, however hostile they are."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from footplate.errors import InvalidInput
from footplate.storage.log_reading import log_search


@pytest.fixture
def log(tmp_path: Path) -> Path:
    log = tmp_path / "log"
    log.write_bytes(b"".join(b"step %d loss=0.%d\n" % (i, i) for i in range(1000)) + b"a" * 40 + b"!\n")
    return log


def found(log: Path, pattern: str, case: bool = False, limit: int = 2000, seconds: float = 60.0) -> list[bytes]:
    content = log.read_bytes()
    result = log_search.find_pattern(log, len(content), pattern, case, 0, limit, seconds)
    return [content[start:end] for start, end in result.matches]


def test_a_pattern_matches_once_per_line(log: Path) -> None:
    assert found(log, r"STEP \d{3} ")[:2] == [b"step 100 ", b"step 101 "]
    assert found(log, r"STEP \d{3} ", case=True) == []
    assert len(found(log, "^")) == 1001
    assert found(log, "9$", limit=2) == [b"9", b"9"]


def test_a_search_goes_on_where_it_stopped(log: Path) -> None:
    size = log.stat().st_size
    first = log_search.find_pattern(log, size, r"loss", True, 0, 600)
    second = log_search.find_pattern(log, size, r"loss", True, first.after, 600)
    assert (len(first.matches), len(second.matches)) == (600, 400)
    assert second.after == size


def test_a_wrong_pattern_is_explained(log: Path) -> None:
    with pytest.raises(InvalidInput, match="wrong: missing"):
        found(log, "(a")


def test_a_hostile_pattern_is_ended(log: Path) -> None:
    begun = time.monotonic()
    with pytest.raises(InvalidInput, match="takes longer than 1 s"):
        found(log, r"(a+)+$", seconds=1.0)
    assert time.monotonic() - begun < 30
