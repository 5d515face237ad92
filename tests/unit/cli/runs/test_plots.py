"""Plots: lines, letters, the axis and the legend."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footplate.cli import console
from footplate.cli.runs import plots
from footplate.cli.runs.plots import Line, plot
from footplate.cli.tables import wide

BLANK = "\u2800"
RAMP = Line("up", [(float(i), float(i)) for i in range(16)])


def test_a_plot_spans_the_smallest_to_the_largest_value() -> None:
    lines = plot([RAMP], 12, 4)
    assert lines[0].startswith("15 ┤") and lines[3].startswith(" 0 ┤")
    assert lines[3][4] != BLANK and lines[0][-1] != BLANK
    assert lines[0][4] == BLANK and lines[3][-1] == BLANK


def test_a_plot_has_an_axis() -> None:
    assert plot([Line("x", [(0, 0.0), (39, 1.0)])], 20, 2, "step")[2:] == [
        "  └─────────────────",
        "   0     step     39",
    ]


@pytest.mark.parametrize("columns", [10, 80, 140, 500])
def test_a_plot_fills_the_columns(columns: int) -> None:
    assert {wide(line) for line in plot([RAMP], columns, 4, "step")} == {max(columns, 12)}


@given(
    st.lists(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), min_size=1, max_size=40), min_size=1),
)
def test_any_numbers_can_be_plotted(series: list[list[tuple[float, float]]]) -> None:
    lines = [Line(f"run {at}", sorted(points)) for at, points in enumerate(series[: plots.MOST_LINES])]
    made = plot(lines, 60, 5, "step")
    assert max(map(wide, made)) <= 60
    assert len(made) == 7 + (len(lines) + 1 if len(lines) > 1 else 0)


def test_the_largest_numbers_can_be_plotted() -> None:
    assert len(plot([Line("x", [(0, -1.7e308), (1, 1.7e308), (2, 0.0)])], 20, 4)) == 6


def test_a_steep_line_has_no_gaps() -> None:
    lines = plot([Line("x", [(0, 0.0), (1, 0.0), (2, 9.0), (3, 9.0)])], 11, 6)
    assert all(any(cell != BLANK for cell in line[3:]) for line in lines[:6])


def test_lines_are_placed_by_x_and_end_with_their_letters() -> None:
    """The second line is half as long: it ends in the middle of the plot."""
    short = Line("short", [(float(i), 15.0) for i in range(8)])
    made = plot([RAMP, short], 43, 4)
    assert made[0].rindex("A") == len(made[0]) - 1, "at the last point"
    assert made[0].rindex("B") == 4 + round(7 / 15 * 77) // 2
    assert made[-2:] == ["A up     last 15  min 0  max 15", "B short  last 15  min 15  max 15"]


def test_a_single_value_among_lines_is_a_letter() -> None:
    made = plot([RAMP, Line("one", [(8.0, 0.0)])], 40, 4)
    assert "B" in made[3]


def test_lines_differ_in_colour_where_there_are_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", _Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert console.is_terminal()
    made = "\n".join(plot([RAMP, Line("down", [(0, 15.0), (15, 0.0)])], 40, 4))
    assert "\x1b[36m" in made and "\x1b[33m" in made
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in "\n".join(plot([RAMP, RAMP], 40, 4))


class _Terminal:
    def isatty(self) -> bool:
        return True
