"""Columns that fit the terminal."""

from __future__ import annotations

import io
import re
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footplate.cli import console, tables
from footplate.cli.runs import charts
from footplate.domain.replies import MetricSeries
from footplate.domain.text import wide


@pytest.mark.parametrize(
    ("room", "shrink", "drop", "fitted"),
    [
        (80, [], [], {0: 20, 1: 10, 2: 30}),
        (64, [2], [], {0: 20, 1: 10, 2: 30}),
        (60, [2], [], {0: 20, 1: 10, 2: 26}),
        (60, [1, 2], [], {0: 20, 1: 10, 2: 26}),
        (40, [1, 2], [], {0: 20, 1: 8, 2: 8}),
        (40, [2], [1], {0: 20, 2: 18}),
        (30, [2], [1], {0: 20, 2: 8}),
        (25, [2], [1, 2], {0: 20}),
        (10, [2], [1, 2], {0: 20}),
    ],
)
def test_columns_shrink_before_any_is_dropped(
    room: int, shrink: list[int], drop: list[int], fitted: dict[int, int]
) -> None:
    assert tables.fit({0: 20, 1: 10, 2: 30}, room, shrink, drop) == fitted


@given(
    st.dictionaries(st.integers(0, 5), st.integers(0, 60), min_size=1),
    st.integers(1, 200),
    st.lists(st.integers(0, 5), unique=True),
    st.lists(st.integers(0, 5), unique=True),
)
def test_columns_that_fit_keep_their_width(
    widths: dict[int, int], room: int, shrink: list[int], drop: list[int]
) -> None:
    made = tables.fit(widths, room, shrink, drop)
    assert all(made[i] == widths[i] or i in shrink for i in made)
    assert all(made[i] <= widths[i] for i in made)
    assert set(widths) - set(made) <= set(drop)
    if sum(widths.values()) + 2 * (len(widths) - 1) <= room:
        assert made == widths


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_one_long_name_does_not_hide_other_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stdout", shown)
    monkeypatch.setenv("COLUMNS", "24")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    tables.print_table(["id", "status", "empty"], [["short", "Done", ""], ["long-" * 6, "Done", None]])
    lines = re.sub("\x1b\\[[0-9;]*m", "", shown.getvalue()).splitlines()
    assert lines == ["id     status", "─────────────", "short  Done", "long-" * 6, "       Done"]


def test_wide_characters_keep_columns_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    tables.print_table(["name", "n"], [["日本", 1], ["abcd", 2]])
    assert capsys.readouterr().out == "NAME  N\n日本  1\nabcd  2\n"


def test_wrapped_text_with_wide_characters_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stdout", shown)
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    tables.print_table(["id", "why"], [["a", "日本日本日本日本日本 is waiting for some more time"]], wrap=["why"])
    lines = shown.getvalue().splitlines()
    assert max(map(wide, lines)) <= 20
    assert "".join(line[3:] for line in lines[2:]).replace(" ", "") == "日本日本日本日本日本iswaitingforsomemoretime"


def test_a_table_that_is_too_wide_is_continued_below(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stdout", shown)
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    tables.print_table(["id", "loss", "learning", "layers"], [["run_1", 0.123456, 0.5, 2], ["run_2", 0.1, 0.25, 4]])
    blank = [line for line in shown.getvalue().split("\n") if not line]
    lines = [line.split() for line in shown.getvalue().splitlines() if "─" not in line]
    assert max(map(wide, shown.getvalue().splitlines())) <= 20
    assert lines == [
        ["id", "loss"], ["run_1", "0.123456"], ["run_2", "0.1"], [],
        ["id", "learning"], ["run_1", "0.5"], ["run_2", "0.25"], [],
        ["id", "layers"], ["run_1", "2"], ["run_2", "4"],
    ]  # fmt: skip
    assert len(blank) == 3, "between the parts, and after the last line"


def test_ids_among_the_headings_keep_their_case_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    tables.print_table(["what", "run_Ab"], [["lr", 1]], names=["run_Ab"])
    assert capsys.readouterr().out == "WHAT  run_Ab\nlr    1\n"


def test_a_name_cannot_write_escape_codes_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    tables.print_table(["name"], [["a\nb\x1b[31mred"]])
    assert capsys.readouterr().out == "NAME\na�b�[31mred\n"


@pytest.mark.parametrize(
    ("passed", "words"),
    [(0, "0s ago"), (59, "59s ago"), (61, "1m ago"), (3700, "1h ago"), (90_000, "1d ago"), (29 * 86400, "29d ago")],
)
def test_ago(passed: float, words: str) -> None:
    assert console.ago(time.time() - passed - 0.2) == words


def test_ago_becomes_a_date_after_a_month() -> None:
    assert console.ago(None) == ""
    assert console.ago(time.time() + 100) == "0s ago", "clocks differ"
    assert console.ago(946_728_000.0) == "2000-01-01"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("system/node_0/memory_used_bytes", 1.25e9, "1.2 GB"),
        ("system/node_0/cpu_percent", 12.34, "12.3 %"),
        ("my_bytes", 1.25e9, "1.25e+09"),
    ],
)
def test_machine_series_have_units(name: str, value: float, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    charts.show_table([MetricSeries(name, "scalar", [[1.0, None, value]])])
    assert words in capsys.readouterr().out
