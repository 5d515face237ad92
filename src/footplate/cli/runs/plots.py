"""Line plots in text. Braille characters give two by four dots per character cell.

Several lines share one frame. Each has a colour and a letter, which is on the line and in the legend: the letters are
enough where colours are not.
"""

from __future__ import annotations

import itertools
import math
import string
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from footplate.cli.console import number, paint
from footplate.domain.text import cut, wide

MOST_LINES = len(string.ascii_uppercase)
"""The most lines of a plot: each has a letter."""

_COLOURS = ("cyan", "yellow", "magenta", "green", "red", "blue")
_MARKER_GAP = 24
"""Columns between two letters on a line."""
_NARROWEST = 8
# Unicode's braille patterns: the bit of each of the 4 × 2 dots of a character.
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BLANK = "\u2800"


@dataclass(frozen=True)
class Line:
    """A series to draw: finite `(x, y)` points in the order of x."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass
class _Cell:
    dots: int = 0
    line: int | None = None
    letter: str = ""


def plot(lines: Sequence[Line], columns: int, height: int, axis: str = "") -> list[str]:
    """Draw lines into `columns` columns of text and `height` rows, with an axis below; several get a legend."""
    xs = [x for line in lines for x, _ in line.points]
    ys = [y for line in lines for _, y in line.points]
    labels = {0: number(max(ys)), height - 1: number(min(ys))}
    margin = max(map(len, labels.values()))
    width = max(_NARROWEST, columns - margin - 2)
    cells = [[_Cell() for _ in range(width)] for _ in range(height)]
    for index, line in enumerate(lines):
        heights = _heights(line, (min(xs), max(xs)), (min(ys), max(ys)), width * 2, height * 4)
        _draw(cells, heights, index, len(lines) > 1)
        if len(lines) > 1:
            _mark(cells, heights, index, len(lines))
    framed = [f"{labels.get(at, ''):>{margin}} ┤{_text(row)}" for at, row in enumerate(cells)]
    below = [f"{'':>{margin}} └{'─' * width}", f"{'':>{margin}}  {_axis(min(xs), max(xs), axis, width)}"]
    return [*framed, *below, *_legend(lines, columns)]


def _heights(
    line: Line, x_range: tuple[float, float], y_range: tuple[float, float], columns: int, rows: int
) -> dict[int, int]:
    """Return the height, in dots, of a line at each column of dots.

    Points that fall together become their mean; between points the line is straight.
    """
    together: dict[int, list[float]] = defaultdict(list)
    for x, y in line.points:
        together[round(_scale(x, *x_range) * (columns - 1))].append(_scale(y, *y_range) * (rows - 1))
    means = [(column, math.fsum(values) / len(values)) for column, values in sorted(together.items())]
    heights = {column: round(height) for column, height in means}
    for (start, before), (right, after) in itertools.pairwise(means):
        for column in range(start + 1, right):
            share = (column - start) / (right - start)
            heights[column] = round(before + (after - before) * share)
    return heights


def _scale(value: float, low: float, high: float) -> float:
    """Map to 0…1. Values are halved first: the difference of two finite numbers may overflow."""
    span = high / 2 - low / 2
    return (value / 2 - low / 2) / span if span else 0.0


def _draw(cells: list[list[_Cell]], heights: dict[int, int], index: int, several: bool) -> None:
    before: int | None = None
    for x, now in sorted(heights.items()):
        before = now if before is None else before
        for up in range(min(before, now), max(before, now) + 1):  # steep parts are connected, too
            y = len(cells) * 4 - 1 - up
            cell = cells[y // 4][x // 2]
            cell.dots |= _DOTS[y % 4][x % 2]
            cell.line = index if several else None
        before = now


def _mark(cells: list[list[_Cell]], heights: dict[int, int], index: int, count: int) -> None:
    """Write the line's letter on it, at different columns for each line, and at its end."""
    last = max(heights)
    marked = {x for x in heights if (x // 2 - index * _MARKER_GAP // count) % _MARKER_GAP == 0 and x % 2 == 0}
    for x in sorted(marked | {last}):
        y = len(cells) * 4 - 1 - heights[x]
        cells[y // 4][x // 2] = _Cell(line=index, letter=string.ascii_uppercase[index])


def _colour(text: str, index: int) -> str:
    return paint(text, fg=_COLOURS[index % len(_COLOURS)])


def _text(row: Sequence[_Cell]) -> str:
    painted = ""
    for line, cells in itertools.groupby(row, key=lambda cell: cell.line):
        text = "".join(cell.letter or chr(ord(_BLANK) + cell.dots) for cell in cells)
        painted += text if line is None else _colour(text, line)
    return painted


def _axis(low: float, high: float, name: str, width: int) -> str:
    first, last = number(low), number(high)
    room = width - len(first) - len(last)
    middle = name if room >= len(name) + 2 else ""
    return f"{first}{middle:^{max(1, room)}}{last}"


def _legend(lines: Sequence[Line], columns: int) -> list[str]:
    if len(lines) == 1:
        return []
    longest = max(wide(line.name) for line in lines)
    entries: list[str] = []
    for index, line in enumerate(lines):
        name = line.name + " " * (longest - wide(line.name))
        values = [y for _, y in line.points]
        ends = f"last {number(values[-1])}  min {number(min(values))}  max {number(max(values))}"
        entries.append(f"{_colour(string.ascii_uppercase[index], index)} {cut(f'{name}  {ends}', columns - 2)}")
    return ["", *entries]
