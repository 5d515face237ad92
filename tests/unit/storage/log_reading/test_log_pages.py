"""Pages of lines: what a terminal shows, from any place, in both directions, also of gigantic lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from footplate.storage.log_reading import log_pages
from footplate.storage.log_reading.line_index import LineIndex
from footplate.storage.log_reading.log_pages import LONGEST_TEXT, Line


def opened(tmp_path: Path, content: bytes) -> tuple[Path, LineIndex]:
    log = tmp_path / "log"
    log.write_bytes(content)
    return log, LineIndex(log, tmp_path / "index")


def texts(lines: list[Line]) -> list[str]:
    return [line.text for line in lines]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b"plain", "plain"),
        (b"dos\r\n", "dos"),
        (b" 10%|#   |\r 20%|##  |\r 30%|### |", " 30%|### |"),
        (b"50%\r100%\r", "100%"),
        (b"caf\xc3\xa9 \xff", "café \ufffd"),
        (b"x" * (LONGEST_TEXT + 9), "x" * LONGEST_TEXT),
    ],
)
def test_a_progress_bar_is_one_line(line: bytes, text: str) -> None:
    assert log_pages.shown(line) == text


def test_pages_in_both_directions_are_the_whole_log(tmp_path: Path) -> None:
    log, index = opened(tmp_path, b"".join(b"line %d\n" % i for i in range(100)) + b"unfinished")
    at, onward = 0, list[Line]()
    while page := log_pages.forward(log, index, at, 7):
        onward += page
        at = page[-1].end
    at, back = index.size, list[Line]()
    while page := log_pages.backward(log, index, at, 7):
        back = page + back
        at = page[0].offset
    assert onward == back
    assert texts(onward) == [*(f"line {i}" for i in range(100)), "unfinished"]
    assert onward[0].offset == 0 and onward[-1].end == index.size


def test_gigantic_lines_are_shown_without_loading_them(tmp_path: Path) -> None:
    bar = b"".join(b"\r%d %%" % i for i in range(400_000))
    log, index = opened(tmp_path, b"start\n" + bar + b"\n" + b"y" * 3_000_000 + b"\nend\n")
    lines = log_pages.forward(log, index, 0, 10)
    assert texts(lines) == ["start", "399999 %", "y" * LONGEST_TEXT, "end"]
    assert [line.end for line in lines[:-1]] == [line.offset for line in lines[1:]]
    assert log_pages.backward(log, index, index.size, 10) == lines


def test_a_page_of_long_lines_is_shorter(tmp_path: Path) -> None:
    log, index = opened(tmp_path, (b"z" * LONGEST_TEXT + b"\n") * 300)
    onward, back = log_pages.forward(log, index, 0, 300), log_pages.backward(log, index, index.size, 300)
    assert len(onward) == len(back) == 128
    assert onward[0].offset == 0 and back[-1].end == index.size


def test_an_empty_log_has_no_lines(tmp_path: Path) -> None:
    log, index = opened(tmp_path, b"")
    assert log_pages.forward(log, index, 0, 5) == log_pages.backward(log, index, 0, 5) == []
