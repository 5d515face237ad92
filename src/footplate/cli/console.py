"""Printing: data to stdout, messages to stderr; the formats of times, sizes and numbers."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import sys
import textwrap
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, TextIO

import click

from footplate.domain.codec import to_json
from footplate.domain.text import counted as counted
from footplate.domain.text import duration as duration
from footplate.domain.text import size as size

STYLES = {
    "Starting": "blue",
    "Preparing": "blue",
    "Queued": "blue",
    "Provisioning": "blue",
    "Scaling": "blue",
    "Running": "cyan",
    "Finalizing": "cyan",
    "Completed": "green",
    "Failed": "red",
    "Canceled": "yellow",
    "CancelRequested": "yellow",
    "ok": "green",
    "warn": "yellow",
    "fail": "red",
}
_OPTIONS = {
    r"\bmax_run_duration_seconds\b": "--timeout",
    r"\bnode_count\b": "--nodes",
    r"\bmax_nodes\b": "--max-nodes",
    r"\bprocess_count\b": "--processes",
    r"\bscript= and source_directory=": "the script's name and --source-dir",
    r"\bgpus, gpus_per_process\b": "--gpus, --gpus-per-process",
    r"\bgpus = (\d)": r"--gpus \1",
    r"PyTorchConfiguration\('Gloo', …\)": "--distribution torch --backend gloo",
    r"\bmax_attempts\b": "--attempts",
    r"\bmemory_gb\b": "--memory-gb",
    r"\bmodel_framework='(\w+)'": r"--framework \1",
    r"\bmodel_framework\b": "--framework",
    r"\bInferenceConfig\(entry_script=…\)": "--script FILE",
    r"\bservice\.(get_logs\(\)|state), or: ": "",
    r"CondaDependencies\.create\(pip_packages=\[.*?\]\)": "footplate run -r FILE",
    r"conda_dependencies\.add_pip_package\('([^']*)'\)": r"a line \1 in a requirements file, footplate run -r FILE",
    r"arguments=\['--data', dataset\.as_named_input\('data'\)\.as_mount\(\)\]": "--input data=NAME --data '$data'",
}
"""Names of the SDK in hints of the server and of nodes, and the options of the command line instead."""

_BARS = "▁▂▃▄▅▆▇█"


def say(text: str, status: str = "") -> None:
    """Print a message to stderr, in the colour of a status if one is given."""
    click.echo(paint(text, sys.stderr, fg=STYLES[status]) if status in STYLES else text, err=True)


def with_options(hint: str) -> str:
    """Return a hint with the options of the command line instead of names of the SDK."""
    for name, option in _OPTIONS.items():
        hint = re.sub(name, option, hint)
    return hint


def emit(data: Any) -> None:
    """Print data as JSON in UTF-8. Bytes of file names that are not UTF-8 become escapes such as \\udcff."""
    click.echo(_json(data))


def emit_or_echo(as_json: bool, data: Any, text: str) -> None:
    """Print data as JSON, or a text to stdout."""
    if as_json:
        emit(data)
    else:
        click.echo(text)


def emit_or_say(as_json: bool, data: Any, message: str) -> None:
    """Print data as JSON, or a message to stderr."""
    if as_json:
        emit(data)
    else:
        say(message)


def emit_each(items: Iterable[Any]) -> None:
    """Print a list as JSON, each item as soon as it is there: the list may be long."""
    separator = "["
    for item in items:
        click.echo(f"{separator}\n{textwrap.indent(_json(item), '  ')}", nl=False)
        separator = ","
    click.echo("[]" if separator == "[" else "\n]")


def _json(data: Any) -> str:
    text = json.dumps(to_json(data), indent=2, ensure_ascii=False, default=str)
    return re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", text)


def is_terminal(stream: TextIO | None = None) -> bool:
    """Whether stdout, or the given stream, is a terminal."""
    return (stream or sys.stdout).isatty() and os.environ.get("TERM") != "dumb"


def paint(text: str, stream: TextIO | None = None, **style: Any) -> str:
    """Add colours if the stream is a terminal and the user allows them (https://no-color.org)."""
    return click.style(text, **style) if is_terminal(stream) and not os.environ.get("NO_COLOR") else text


def word(text: str, label: str | None = None) -> str:
    """Return a status, or the text `shown` for it, in the status's colour."""
    label = text if label is None else label
    return paint(label, fg=STYLES[text]) if text in STYLES else label


def printable(text: str, but: str = "") -> str:
    """Replace line breaks and escape sequences, which names may contain and a terminal must not receive."""
    return text if text.isprintable() else "".join(c if c.isprintable() or c in but else "�" for c in text)


def is_within(name: str, path: str) -> bool:
    """Whether a file is the path or below it. The path is exact or, as tables and jq print it, with �."""
    return any(each == path or each.startswith(path.rstrip("/") + "/") for each in (name, printable(name)))


def print_pairs(values: Iterable[tuple[str, Any]]) -> None:
    """Print `name  value` lines. Empty values are left out; values of several lines go below their name.

    Values are made printable and then coloured, so callers pass them without colours.
    """
    lines = [(name, printable(str(value), "\n\t")) for name, value in values if value not in (None, "", {}, [], ())]
    width = max((len(name) for name, _ in lines), default=0)
    for name, value in lines:
        head = paint(name.ljust(width), bold=True)
        if "\n" in value:
            click.echo(f"{head.rstrip()}\n{textwrap.indent(value.strip(chr(10)), '  ')}")
        else:
            click.echo(f"{head}  {word(value)}")


def emit_or_pairs(as_json: bool, data: Any, values: Iterable[tuple[str, Any]]) -> None:
    """Print data as JSON, or `name  value` lines."""
    if as_json:
        emit(data)
    else:
        print_pairs(values)


def when(seconds: float | None) -> str:
    """Format a time in the local time zone."""
    return "" if seconds is None else datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")


def iso(seconds: float) -> str:
    """Format a time for programs: ISO 8601 in UTC."""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds")


def ago(seconds: float | None) -> str:
    """Format the time since, in one unit; after a month, the date."""
    if seconds is None:
        return ""
    passed = max(0.0, time.time() - seconds)
    for limit, unit, letter in ((60, 1, "s"), (3600, 60, "m"), (86400, 3600, "h"), (30 * 86400, 86400, "d")):
        if passed < limit:
            return f"{int(passed / unit)}{letter} ago"
    return when(seconds)[:10]


def tag_words(tags: Mapping[str, str | None]) -> str:
    return ", ".join(key if value is None else f"{key}={value}" for key, value in tags.items())


def number(value: Any) -> str:
    """Format a number with six digits; `--json` prints all of them."""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:59] + "…"


def sparkline(values: Sequence[float], width: int = 32) -> str:
    """Draw a series in one line; long series are averaged into `width` steps."""
    finite = [v for v in values if math.isfinite(v)]
    if not finite:
        return ""
    steps = min(width, len(finite))
    edges = [i * len(finite) // steps for i in range(steps + 1)]
    means = [sum(finite[a:b]) / (b - a) for a, b in itertools.pairwise(edges)]
    low, high = min(means), max(means)
    span = (high - low) or 1.0
    return "".join(_BARS[min(7, int((m - low) / span * 8))] for m in means)
