"""Durations, sizes, and columns of a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footplate.domain import text as text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, ""), (0.04, "0.0s"), (4.25, "4.2s"), (59.9, "59.9s"), (59.97, "1m"), (200, "3m 20s"),
        (3599.9, "1h"), (3600, "1h"), (18120, "5h 2m"), (86399, "23h 59m"), (86400, "1d"), (187200, "2d 4h"),
    ],
)  # fmt: skip
def test_duration(seconds: float | None, words: str) -> None:
    assert text.duration(seconds) == words


def test_one_thing_is_counted_in_the_singular() -> None:
    assert [text.counted(count, "GPU") for count in (0, 1, 2)] == ["0 GPUs", "1 GPU", "2 GPUs"]


@given(st.floats(0, 1e9))
def test_every_duration_has_a_format(seconds: float) -> None:
    assert text.duration(seconds)


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1_234_567, "1.2 MB"), (5 * 10**15, "5000.0 TB")],
)
def test_size(count: int, words: str) -> None:
    assert text.size(count) == words


@pytest.mark.parametrize(
    ("words", "columns"), [("abc", 3), ("é", 1), ("e\u0301", 1), ("日本", 4), ("", 0), ("…", 1), ("♥\ufe0f", 1)]
)
def test_width_of_a_text(words: str, columns: int) -> None:
    assert text.wide(words) == columns


@given(st.text(max_size=40), st.integers(1, 30))
def test_a_cut_text_fits(words: str, width: int) -> None:
    shown = text.cut(words, width)
    assert text.wide(shown) <= width
    assert shown == words or shown.endswith("…")
