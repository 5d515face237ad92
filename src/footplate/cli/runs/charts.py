"""Metrics on a terminal: a table with a sparkline per series, and a plot of some series."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping, Sequence
from typing import Any

import click

from footplate.cli.console import counted, is_terminal, number, say, size, sparkline
from footplate.cli.runs import plots
from footplate.cli.tables import print_table
from footplate.domain.floats import untag_float
from footplate.domain.replies import MetricSeries

_HEIGHT = (6, 18)  # minimum and maximum rows of a plot
_COURSE = (8, 32)  # minimum and maximum width of a sparkline


def show_table(series: Sequence[MetricSeries]) -> None:
    rows = [_row(each.name, [untag_float(point[2]) for point in each.points]) for each in series]
    columns = ["metric", "count", "last", "min", "max", "course"]
    used_width = sum(max(len(row[i]) for row in [columns, *(row for row, _ in rows)]) + 2 for i in range(5))
    width = min(max(shutil.get_terminal_size().columns - used_width, _COURSE[0]), _COURSE[1])
    cells = [[*row, sparkline(finite, width) if len(finite) > 1 else ""] for row, finite in rows]
    print_table(columns, cells, right=columns[1:5], shrink=["last"], drop=["course", "min", "max"])


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


def show_series(series: Mapping[str, Sequence[MetricSeries]], by_time: bool = False) -> None:
    """Print series of one or several runs: one plot on a terminal, otherwise a line per value.

    `series` has the metrics of each run, by its id. The x axis is the step, or the seconds since the run's first value.
    """
    values = {name: _points_of(each, by_time) for name, each in _by_name(series).items()}
    lines = [
        plots.Line(name, [(x, float(y)) for x, y in points if isinstance(y, (int, float)) and math.isfinite(y)])
        for name, points in values.items()
    ]
    if is_terminal() and any(len(line.points) > 1 for line in lines):
        names = {each.name for metrics in series.values() for each in metrics}
        _plot(", ".join(sorted(names)), lines, "seconds" if by_time else "step")
        return
    for name, points in values.items():
        for x, y in points:
            click.echo("\t".join([*([name] if len(values) > 1 else []), number(x), number(y)]))


def _plot(title: str, lines: Sequence[plots.Line], axis: str) -> None:
    with_points = [line for line in lines if line.points]
    room = shutil.get_terminal_size()
    height = min(max(room.lines - 8 - len(with_points), _HEIGHT[0]), _HEIGHT[1])
    if len(with_points) == 1:
        points = with_points[0].points
        title += f"  {counted(len(points), 'point')}, last value {number(points[-1][1])}"
    click.echo(f"{title}\n")
    click.echo("\n".join(plots.plot(with_points, room.columns, height, axis)))
    for line in lines:
        if not line.points:
            say(f"{line.name} has no numbers to draw")


def _by_name(series: Mapping[str, Sequence[MetricSeries]]) -> dict[str, MetricSeries]:
    """Name each series by what differs: the run, the metric, or both."""
    metrics = {each.name for of_run in series.values() for each in of_run}
    named: dict[str, MetricSeries] = {}
    for run, of_run in series.items():
        for each in of_run:
            named[each.name if len(series) == 1 else run if len(metrics) == 1 else f"{run} {each.name}"] = each
    return named


def _points_of(series: MetricSeries, by_time: bool) -> list[tuple[float, Any]]:
    """Return the values with their place on the x axis: the step, or the number of the value if it has no step."""
    points = sorted(series.points, key=lambda point: point[0])
    if by_time:
        return [(point[0] - points[0][0], untag_float(point[2])) for point in points]
    placed = [(at if step is None else step, untag_float(value)) for at, (_, step, value) in enumerate(points)]
    return sorted(placed, key=lambda pair: pair[0])
