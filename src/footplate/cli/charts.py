"""Metrics on a terminal: a table with a sparkline per series, and a plot of one series."""

from __future__ import annotations

import itertools
import math
import shutil
from collections.abc import Sequence
from typing import Any

import click

from footplate.cli.console import is_terminal, number, size, sparkline
from footplate.cli.tables import table
from footplate.domain.floats import untag_float
from footplate.domain.replies import MetricSeries

WIDTH, HEIGHT = 72, 12
_COURSE = (8, 32)  # minimum and maximum width of a sparkline


def show_table(series: Sequence[MetricSeries]) -> None:
    rows = [_row(each.name, [untag_float(point[2]) for point in each.points]) for each in series]
    columns = ["metric", "count", "last", "min", "max", "course"]
    taken = sum(max(len(row[i]) for row in [columns, *(row for row, _ in rows)]) + 2 for i in range(5))
    width = min(max(shutil.get_terminal_size().columns - taken, _COURSE[0]), _COURSE[1])
    shown = [[*row, sparkline(finite, width) if len(finite) > 1 else ""] for row, finite in rows]
    table(columns, shown, right=columns[1:5], shrink=["last"], drop=["course", "min", "max"])


def _row(name: str, values: list[Any]) -> tuple[list[str], list[float]]:
    """Return the cells of a series, and its values that can be drawn."""
    numbers = [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
    finite = [float(v) for v in numbers if math.isfinite(v)]
    ends = [_with_unit(name, min(finite)), _with_unit(name, max(finite))] if finite else ["", ""]
    return [name, str(len(values)), _with_unit(name, values[-1]) if values else "", *ends], finite


def _with_unit(name: str, value: Any) -> str:
    """Format a number. The names of the machine's series end with their unit."""
    if isinstance(value, (int, float)) and math.isfinite(value) and name.startswith("system/"):
        if name.endswith("_bytes"):
            return size(int(value))
        if name.endswith("_percent"):
            return f"{value:.1f} %"
    return number(value)


def show_series(series: Sequence[MetricSeries]) -> None:
    """Print one metric: a plot on a terminal if there are enough numbers, otherwise `step value` lines."""
    points = sorted((point for each in series for point in each.points), key=lambda point: point[0])
    values = [untag_float(value) for _, _, value in points]
    steps = [index if step is None else step for index, (_, step, _) in enumerate(points)]
    drawn = [(s, float(v)) for s, v in zip(steps, values, strict=True) if _is_finite(v)]
    if len(drawn) > 1 and is_terminal():
        click.echo(f"{series[0].name}  {len(values)} points, last value {number(values[-1])}\n")
        numbers = [value for _, value in drawn]
        room = shutil.get_terminal_size().columns - max(len(number(v)) for v in (min(numbers), max(numbers))) - 3
        click.echo("\n".join(plot(numbers, max(8, min(WIDTH, room)), ends=(number(drawn[0][0]), number(drawn[-1][0])))))
        return
    for step, value in zip(steps, values, strict=True):
        click.echo(f"{number(step)}\t{number(value)}")


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def plot(
    values: Sequence[float], width: int = WIDTH, height: int = HEIGHT, ends: tuple[str, str] | None = None
) -> list[str]:
    """Draw a line through the values, from the smallest to the largest, over an axis labelled with its two `ends`.

    Braille characters give two by four dots per character.
    """
    low, high = min(values), max(values)
    heights = [_scaled(value, low, high) * (height * 4 - 1) for value in _resampled(values, width * 2)]
    cells = [[0] * width for _ in range(height)]
    before = round(heights[0])
    for x, exact in enumerate(heights):
        now = round(exact)
        for up in range(min(before, now), max(before, now) + 1):  # steep parts are connected, too
            y = height * 4 - 1 - up
            cells[y // 4][x // 2] |= _DOTS[y % 4][x % 2]
        before = now
    labels = {0: number(high), height - 1: number(low)}
    margin = max(map(len, labels.values()))
    lines = ["".join(chr(0x2800 + cell) for cell in row) for row in cells]
    framed = [f"{labels.get(i, ''):>{margin}} ┤{line}" for i, line in enumerate(lines)]
    if ends is None:
        return framed
    space = " " * max(1, width - len(ends[0]) - len(ends[1]))
    return [*framed, f"{'':>{margin}} └{'─' * width}", f"{'':>{margin}}  {ends[0]}{space}{ends[1]}"]


def _scaled(value: float, low: float, high: float) -> float:
    """Map to 0…1. Values are halved first: the difference of two finite numbers may overflow."""
    span = high / 2 - low / 2
    return (value / 2 - low / 2) / span if span else 0.0


def _resampled(values: Sequence[float], count: int) -> list[float]:
    """Return `count` values: means where several fall together, interpolated points where they are sparse."""
    if len(values) >= count:
        edges = [i * len(values) // count for i in range(count + 1)]
        return [math.fsum(v / (b - a) for v in values[a:b]) for a, b in itertools.pairwise(edges)]
    made: list[float] = []
    for i in range(count):
        place = i * (len(values) - 1) / (count - 1)
        left = min(int(place), len(values) - 2)
        made.append(values[left] * (left + 1 - place) + values[left + 1] * (place - left))
    return made


# Unicode's braille patterns: the bit of each of the 4 × 2 dots of a character.
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
