"""The line index agrees with the log, however it grew and whatever happened to the side file."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from footplate.storage.log_reading import line_index
from footplate.storage.log_reading.line_index import BLOCK, LineIndex


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Make a log of several blocks with lines of all lengths."""
    dice = random.Random(5)
    lines = (b"x" * dice.choice((0, 1, 50, 3000)) for _ in range(2000))
    path = tmp_path / "log"
    path.write_bytes(b"\n".join(lines))
    assert path.stat().st_size > 2 * BLOCK
    return path


def check(log: Path, index: LineIndex) -> None:
    content = log.read_bytes()
    assert index.lines == len(content.splitlines())
    starts = [0, *(at + 1 for at, byte in enumerate(content) if byte == 10)]
    for number in (0, 1, 2, 700, len(starts) - 1):
        if number < len(starts):
            assert index.offset_of(number) == starts[number]
            assert index.line_at(starts[number]) == number
    assert index.offset_of(10**9) == len(content)
    for offset in range(0, len(content), max(1, len(content) // 50)):
        assert index.line_at(offset) == content[:offset].count(b"\n")


def test_lines_and_offsets_agree_with_the_log(log: Path, tmp_path: Path) -> None:
    check(log, LineIndex(log, tmp_path / "index"))


def test_the_index_grows_with_the_log(log: Path, tmp_path: Path) -> None:
    whole = log.read_bytes()
    for size in (0, 1, BLOCK - 1, BLOCK, BLOCK + 1, len(whole)):
        log.write_bytes(whole[:size])
        check(log, LineIndex(log, tmp_path / "index"))
    assert (tmp_path / "index").stat().st_size == len(whole) // BLOCK * 8


@pytest.mark.parametrize("damage", ["cut", "longer", "gone"])
def test_a_damaged_index_is_completed_from_the_log(log: Path, tmp_path: Path, damage: str) -> None:
    index = tmp_path / "index"
    LineIndex(log, index)
    if damage == "cut":
        index.write_bytes(index.read_bytes()[:11])
    elif damage == "longer":
        index.write_bytes(index.read_bytes() + b"\xff" * 20)
    else:
        index.unlink()
    check(log, LineIndex(log, index))


def test_a_rewritten_log_is_indexed_again(log: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    LineIndex(log, index)
    kept = BLOCK + 7
    log.write_bytes(log.read_bytes()[:kept] + b"new\n" * BLOCK)
    line_index.cut(index, kept)
    check(log, LineIndex(log, index))


def test_a_line_break_at_the_end_of_a_block_ends_the_last_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"x" * (BLOCK - 1) + b"\n")
    assert LineIndex(log, tmp_path / "index").lines == 1
    log.write_bytes(b"x" * BLOCK)
    (tmp_path / "index").unlink()
    assert LineIndex(log, tmp_path / "index").lines == 1
