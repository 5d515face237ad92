"""Metrics on a terminal: a table with the course of each series, and a plot of one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import click

from footplate.cli.console import is_rich, number, sparkline, table
from footplate.domain.floats import untag_float

WIDTH, HEIGHT = 72, 12


def show_table(series: Sequence[dict[str, Any]]) -> None:
    rows: list[list[Any]] = []
    for each in series:
        values = [untag_float(point[2]) for point in each["points"]]
        numbers = [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
        finite = [float(v) for v in numbers if math.isfinite(v)]
        last = number(values[-1]) if values else ""
        extremes = [number(min(finite)), number(max(finite))] if finite else ["", ""]
        rows.append([each["name"], len(values), last, *extremes, sparkline(finite) if len(finite) > 1 else ""])
    table(["metric", "count", "last", "min", "max", "course"], rows, right=["count", "last", "min", "max"])


def show_series(series: Sequence[dict[str, Any]]) -> None:
    """One metric: a plot on a terminal, where there are enough numbers for one; otherwise `step value` lines."""
    points = sorted((point for each in series for point in each["points"]), key=lambda point: point[0])
    values = [untag_float(value) for _, _, value in points]
    numbers = [float(v) for v in values if isinstance(v, (int, float)) and math.isfinite(v)]
    if len(numbers) > 1 and is_rich():
        click.echo("\n".join(plot(numbers)))
        return
    for index, ((_, step, _), value) in enumerate(zip(points, values, strict=True)):
        click.echo(f"{number(step) if step is not None else index}\t{number(value)}")


def plot(values: Sequence[float], width: int = WIDTH, height: int = HEIGHT) -> list[str]:
    """A line of dots, two per character across and four down, between its smallest and its largest value."""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    across, down = min(width * 2, max(2, len(values))), height * 4
    cells = [[0] * ((across + 1) // 2) for _ in range(height)]
    for x in range(across):
        start, end = x * len(values) // across, max(x * len(values) // across + 1, (x + 1) * len(values) // across)
        mean = sum(values[start:end]) / (end - start)
        y = down - 1 - round((mean - low) / span * (down - 1))
        cells[y // 4][x // 2] |= _DOTS[y % 4][x % 2]
    lines = ["".join(chr(0x2800 + cell) for cell in row) for row in cells]
    labels = {0: number(high), height - 1: number(low)}
    margin = max(map(len, labels.values()))
    return [f"{labels.get(i, ''):>{margin}} ┤{line}" for i, line in enumerate(lines)]


# Unicode's braille patterns: the bit of each of the 4 × 2 dots of a character.
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
