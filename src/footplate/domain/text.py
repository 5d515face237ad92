"""Durations, sizes and counts as people write them, and text measured in columns of a terminal.

A filter by tag or property in a query is `KEY`, or `KEY=VALUE`: the first `=` ends the key. In the key itself, `=` is
written `%3D`, and `%` is written `%25`.
"""

from __future__ import annotations

import itertools
import unicodedata
from typing import Any, Optional, Tuple


def duration(seconds: Optional[float]) -> str:
    """Format a duration with at most two units: `4.2s`, `3m 20s`, `5h`, `2d 4h`."""
    if seconds is None:
        return ""
    if seconds < 59.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    for unit, letter, below, small in ((86400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s")):
        if whole >= unit:
            rest = whole % unit // below
            return f"{whole // unit}{letter}" + (f" {rest}{small}" if rest else "")
    return ""


def counted(count: int, noun: str) -> str:
    """Format a number of things: `1 file`, `2 files`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def size(count: float) -> str:
    """Format a number of bytes: `999 B`, `1.2 MB`."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{int(value)} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def cut(text: str, width: int) -> str:
    """Return the text, cut with an ellipsis if it is wider than `width`."""
    if wide(text) <= width:
        return text
    ends = list(itertools.accumulate(map(_cell, text)))
    return text[: sum(1 for end in ends if end <= width - 1)] + "…"


def wide(text: str) -> int:
    """Return the number of terminal columns: East Asian characters take two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_cell, text))


def _cell(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def label_filter(key: str, value: Any = None) -> str:
    """Return the text that selects this key, with this value unless it is None."""
    written = key.replace("%", "%25").replace("=", "%3D")
    return written if value is None else f"{written}={value}"


def parse_label_filter(text: str) -> Tuple[str, Optional[str]]:
    key, equals, value = text.partition("=")
    return key.replace("%3D", "=").replace("%25", "%"), value if equals else None
