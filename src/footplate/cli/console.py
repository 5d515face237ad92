"""Printing: data to stdout, talk to stderr, plain columns for pipes and rich ones for terminals."""

from __future__ import annotations

import itertools
import json
import math
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import click

STYLES = {
    "Completed": "green",
    "Running": "cyan",
    "Finalizing": "cyan",
    "Failed": "red",
    "Canceled": "yellow",
    "CancelRequested": "yellow",
    "ok": "green",
    "warn": "yellow",
    "fail": "red",
}
_BARS = "▁▂▃▄▅▆▇█"


def say(text: str) -> None:
    """Talk: what happens, beside the data."""
    click.echo(text, err=True)


def emit(data: Any) -> None:
    """Data for machines."""
    click.echo(json.dumps(data, indent=2, ensure_ascii=False, default=str))


def is_rich() -> bool:
    """Whether stdout is a terminal that colours and lines are for. (https://no-color.org is respected.)"""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def word(text: str) -> str:
    """A status word in its colour, where there are colours."""
    return click.style(text, fg=STYLES[text]) if text in STYLES and is_rich() else text


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, right: Iterable[str] = ()) -> None:
    """Rows under headings. In a pipe: aligned, nothing cut off, no lines, so that `awk` and eyes can both read it."""
    cells = [["" if value is None else str(value) for value in row] for row in rows]
    if is_rich():
        _rich_table(columns, cells, set(right))
        return
    lines = [[name.upper() for name in columns], *cells]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    for line in lines:
        padded = [c.rjust(w) if n in right else c.ljust(w) for c, w, n in zip(line, widths, columns, strict=True)]
        click.echo("  ".join(padded).rstrip())


def _rich_table(columns: Sequence[str], cells: list[list[str]], right: set[str]) -> None:
    from rich.box import SIMPLE_HEAD  # lazy: rich costs more than everything else here together
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    made = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for name in columns:
        made.add_column(name, justify="right" if name in right else "left", overflow="fold", no_wrap=name == "id")
    for row in cells:
        made.add_row(*[Text(value, style=STYLES.get(value, "")) for value in row])
    Console().print(made)


def pairs(values: Iterable[tuple[str, Any]]) -> None:
    """`name  value` lines; what has no value is left out."""
    shown = [(name, str(value)) for name, value in values if value not in (None, "", {}, [], ())]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        head = click.style(name.ljust(width), bold=True) if is_rich() else name.ljust(width)
        click.echo(f"{head}  {value}")


def when(seconds: float | None) -> str:
    """A moment, as a clock on this machine's wall shows it."""
    return "" if seconds is None else datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")


def ago(seconds: float | None) -> str:
    return "" if seconds is None else f"{duration(max(0.0, time.time() - seconds))} ago"


def duration(seconds: float | None) -> str:
    """At most two units: `4.2s`, `3m 20s`, `5h 2m`, `2d 4h`."""
    if seconds is None:
        return ""
    if seconds < 59.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}m {whole % 60}s"
    if whole < 86400:
        return f"{whole // 3600}h {whole % 3600 // 60}m"
    return f"{whole // 86400}d {whole % 86400 // 3600}h"


def size(count: int) -> str:
    value, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            break
        value /= 1000
    return f"{int(value)} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def tag_words(tags: Mapping[str, str | None]) -> str:
    return ", ".join(key if value is None else f"{key}={value}" for key, value in tags.items())


def number(value: Any) -> str:
    """Six digits tell people enough; machines have `--json`."""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:59] + "…"


def sparkline(values: Sequence[float], width: int = 32) -> str:
    """The course of a series in one line; long series are averaged into `width` steps."""
    finite = [v for v in values if math.isfinite(v)]
    if not finite:
        return ""
    steps = min(width, len(finite))
    edges = [i * len(finite) // steps for i in range(steps + 1)]
    means = [sum(finite[a:b]) / (b - a) for a, b in itertools.pairwise(edges)]
    low, high = min(means), max(means)
    span = (high - low) or 1.0
    return "".join(_BARS[min(7, int((m - low) / span * 8))] for m in means)
