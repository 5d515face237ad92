"""Tables: plain columns for pipes, and columns that fit the line for terminals."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import click

from footplate.cli.console import emit, is_terminal, paint, printable, say, word
from footplate.domain.text import cut, wide

T = TypeVar("T")
GAP = "  "
SHORTEST = 8
"""The minimum width of a column that may shrink."""


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    right: Collection[str] = (),
    shrink: Collection[str] = (),
    wrap: Collection[str] = (),
    drop: Sequence[str] = (),
    names: Collection[str] = (),
) -> None:
    """Format rows under headings; columns in `right` are right-aligned.

    In a pipe nothing is cut, and headings are in capitals, except ids and the like, which `names` lists. On a terminal,
    empty columns are left out. If the line is too short, columns in `shrink` are cut and those in `wrap` are wrapped;
    then those in `drop` are left out one by one, and what is still too wide becomes several tables, one below the
    other. The first column is what people copy: it is in all of them and never cut, and values longer than half a line
    go on a line of their own.
    """
    cells = [["" if value is None else printable(str(value)) for value in row] for row in rows]
    sides = [name in right for name in columns]
    if not is_terminal():
        lines = [[name if name in names else name.upper() for name in columns], *cells]
        widths = {i: max(wide(line[i]) for line in lines) for i in range(len(columns))}
        for line in lines:
            click.echo(_line([_pad(line[i], widths[i], sides[i]) for i in widths]))
        return
    for line in terminal_lines(columns, cells, right=right, shrink=shrink, wrap=wrap, drop=drop):
        click.echo(line)


def print_list(
    as_json: bool,
    items: Sequence[T],
    nothing: str,
    columns: Sequence[str],
    row: Callable[[T], Sequence[Any]],
    **layout: Any,
) -> None:
    """Print items as JSON or as a table with these options; a message if there are none."""
    if as_json:
        emit(items)
    elif not items:
        say(nothing)
    else:
        print_table(columns, map(row, items), **layout)


def terminal_lines(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    right: Collection[str] = (),
    shrink: Collection[str] = (),
    wrap: Collection[str] = (),
    drop: Sequence[str] = (),
) -> Iterable[str]:
    """Yield the lines of a table that fits the terminal, or of several, one below the other."""
    cells = [["" if value is None else printable(str(value)) for value in row] for row in rows]
    sides = [name in right for name in columns]
    natural = {
        i: max(wide(name), *(wide(row[i]) for row in cells), 0)
        for i, name in enumerate(columns)
        if i == 0 or any(row[i] for row in cells)
    }
    room = shutil.get_terminal_size().columns
    natural[0] = max(wide(columns[0]), *(width for row in cells if (width := wide(row[0])) <= room // 2), 0)
    may_shrink = [i for i in natural if columns[i] in shrink or columns[i] in wrap]
    may_go = [columns.index(name) for name in drop]
    widths = fit(natural, room, may_shrink, may_go)
    for number, part in enumerate(split(widths, room)):
        yield from [""] if number else []
        yield paint(_line([_pad(cut(columns[i], part[i]), part[i], sides[i]) for i in part]), bold=True)
        yield paint("─" * _total(part), dim=True)
        for row in cells:
            yield from _lines_of(row, part, sides, [name in wrap for name in columns])


def fit(widths: Mapping[int, int], room: int, shrink: Sequence[int], drop: Sequence[int]) -> dict[int, int]:
    """Return the columns to show and their widths, leaving out columns of `drop` until the rest fits."""
    fitted: dict[int, int] = {}
    for count in range(len(drop) + 1):
        remaining = {i: width for i, width in widths.items() if i not in drop[:count]}
        fitted = _shrink(remaining, room, shrink)
        if _total(fitted) <= room:
            break
    return fitted


def split(widths: Mapping[int, int], room: int) -> list[dict[int, int]]:
    """Split columns that do not fit into several tables, each with the first column."""
    first, *rest = widths
    parts = [{first: widths[first]}]
    for i in rest:
        if len(parts[-1]) > 1 and _total({**parts[-1], i: widths[i]}) > room:
            parts.append({first: widths[first]})
        parts[-1][i] = widths[i]
    return parts


def _shrink(widths: dict[int, int], room: int, shrink: Sequence[int]) -> dict[int, int]:
    """Shrink the widest column first."""
    shrunk = dict(widths)
    for _ in range(_total(shrunk) - room):
        able = [i for i in shrink if shrunk.get(i, 0) > SHORTEST]
        if not able:
            break
        shrunk[max(able, key=lambda i: shrunk[i])] -= 1
    return shrunk


def _total(widths: Mapping[int, int]) -> int:
    return sum(widths.values()) + len(GAP) * (len(widths) - 1)


def _lines_of(
    row: list[str], widths: Mapping[int, int], sides: Sequence[bool], wrapped: Sequence[bool]
) -> Iterable[str]:
    if wide(row[0]) > widths[0]:
        yield row[0]
        row = ["", *row[1:]]
    pieces: list[list[str]] = []
    for i, width in widths.items():
        parts = _wrap(row[i], width) if wrapped[i] else [cut(row[i], width)]
        pieces.append([word(row[i], _pad(text, width, sides[i])) for text in parts])
    blank = [" " * width for width in widths.values()]
    for line in itertools.zip_longest(*pieces):
        yield _line([text if text is not None else blank[n] for n, text in enumerate(line)])


def hanging(head: str, indent: int, text: str) -> str:
    """Return a text behind its head of `indent` columns. On a terminal, a long one goes on below itself."""
    if not is_terminal():
        return head + text
    room = max(SHORTEST, shutil.get_terminal_size().columns - indent)
    return head + f"\n{' ' * indent}".join(_wrap(text, room))


def _wrap(text: str, width: int) -> list[str]:
    """Wrap between words, and inside words wider than a line. (`textwrap` counts characters, not columns.)"""
    lines = [""]
    for part in text.split():
        longer = f"{lines[-1]} {part}" if lines[-1] else part
        if wide(longer) <= width:
            lines[-1] = longer
            continue
        if lines[-1]:
            lines.append("")
        for letter in part:
            if wide(lines[-1] + letter) > width and lines[-1]:
                lines.append("")
            lines[-1] += letter
    return lines


def _line(texts: Sequence[str]) -> str:
    return GAP.join(texts).rstrip()


def _pad(text: str, width: int, right: bool) -> str:
    space = " " * (width - wide(text))
    return space + text if right else text + space
