"""Searches for text and for errors; regular expressions are in `tests/processes/storage`."""

from __future__ import annotations

from pathlib import Path

import pytest

from footplate.errors import InvalidInput
from footplate.storage.log_reading import log_search

REPORTS = [
    b"Traceback (most recent call last):", b"ValueError: no", b"torch.cuda.OutOfMemoryError: CUDA out of memory.",
    b"[rank3]: RuntimeError: NCCL", b"KeyboardException", b"Segmentation fault (core dumped)", b"Killed",
    b"Fatal Python error: Aborted", b"my.module.CustomError: x",
]  # fmt: skip
NO_REPORTS = [b"errors: 0", b"mean Error: 0.3", b"no Exception: fine", b"ErrorRate 0.1", b"Killed 3 bugs", b"loss 0.1"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def found(log: Path, text: str, case: bool = False, offset: int = 0, limit: int = 100) -> tuple[list[bytes], int]:
    content = log.read_bytes()
    result = log_search.find_text(log, len(content), text, case, offset, limit)
    return [content[start:end] for start, end in result.matches], result.after


def test_text_is_found_once_per_line(log: Path) -> None:
    log.write_bytes(b"Loss loss\nnothing\nLOSS 2\n")
    assert found(log, "loss") == ([b"Loss", b"LOSS"], 25)
    assert found(log, "loss", case=True) == ([b"loss"], 25)
    with pytest.raises(InvalidInput, match="empty"):
        found(log, "")


def test_a_search_goes_on_where_it_stopped(log: Path) -> None:
    log.write_bytes(b"".join(b"step %d\n" % i for i in range(300)))
    matches: list[bytes] = []
    at, size = 0, log.stat().st_size
    while at < size:
        some, at = found(log, "step 1", offset=at, limit=10)
        matches += some
    assert len(matches) == sum(str(i).startswith("1") for i in range(300))


def test_matches_at_the_edges_of_pieces_are_found(log: Path) -> None:
    filler = b"." * 99 + b"\n"
    log.write_bytes(filler * 50_000 + b"needle\n" + filler * 50_000 + b"needle")
    assert found(log, "needle")[0] == [b"needle", b"needle"]


@pytest.mark.parametrize("report", REPORTS)
def test_reports_of_errors_are_found(log: Path, report: bytes) -> None:
    log.write_bytes(b"\n".join([*NO_REPORTS, report, *NO_REPORTS]))
    content = log.read_bytes()
    [(start, _)] = log_search.find_errors(log, len(content), 0, 10).matches
    assert content[:start].count(b"\n") == len(NO_REPORTS)


def test_the_first_error_is_the_first_in_the_log(log: Path) -> None:
    log.write_bytes(b"ok\n" * 10 + b"KeyError: 'x'\n" + b"Traceback (most recent call last):\n")
    assert log_search.find_errors(log, log.stat().st_size, 0, 1).matches == [(30, 40)]
