"""Orders of a list of runs, and positions in them.

An order has phases: runs with a number, then those with text, then those with another value, last those without one.
Each phase is the walk of one index, whose last column is the run's key, so a page costs the same at any depth.
"""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement, Table, and_, false, select

from footplate.domain.runs import run_filter
from footplate.domain.runs.run_filter import Comparison, Condition, Field, Has, parse_field
from footplate.errors import InvalidInput
from footplate.storage.column_types import SafeText
from footplate.storage.queries.run_filter import LABELS, OPERATORS, SUMMARIES, column_of
from footplate.storage.schema import run_labels, runs, series

_COLUMNS = ("started", "ended", "duration", "name")


class Position(NamedTuple):
    """A position in an order: the phase, the values that its runs are sorted by, and the run's key at the end."""

    phase: int
    values: tuple[Any, ...]

    @property
    def key(self) -> int:
        return self.values[-1]


@dataclass(frozen=True)
class Phase:
    """Runs with values of one kind, sorted by `columns`. `table` holds the values."""

    table: Table
    columns: tuple[ColumnElement[Any], ...]
    where: tuple[ColumnElement[bool], ...] = ()


@dataclass(frozen=True)
class RunOrder:
    """`own`: the condition on rows of `table` that belong to this order. `values`: its columns to sort by."""

    field: Field
    table: Table
    own: ColumnElement[bool] | None
    values: tuple[ColumnElement[Any], ...]
    phases: tuple[Phase, ...]

    def place(self, values: Sequence[Any], is_present: bool, key: int) -> Position:
        """Return the position of a run with these values."""
        last = len(self.phases) - 1
        if not is_present or not self.values:
            return Position(last, (key,))
        first = next((at for at, value in enumerate(values) if value is not None), len(values))
        return Position(first, (*values[first:], key))

    def walk(self, metric: str | None, where: str | None) -> list[Phase]:
        """Return the phases in which runs can match the filters; comparisons of the field itself bound the walk."""
        conditions: Sequence[Condition] = ()
        if where is not None:
            conditions = run_filter.conjuncts(run_filter.parse(where, time.time()))
        compared = [each for each in conditions if isinstance(each, (Comparison, Has)) and each.field.name is not None]
        bounds = [
            OPERATORS[each.operator](self.phases[0].columns[0], each.value)
            for each in compared
            if isinstance(each, Comparison) and each.field == self.field and not isinstance(each.value, str)
        ]
        if bounds:
            return [replace(self.phases[0], where=(*self.phases[0].where, *bounds))]
        has_metric = self.field.kind == "metrics" and metric == self.field.name
        is_required = has_metric or any(each.field[:2] == self.field[:2] for each in compared)
        return [*self.phases[:-1]] if is_required else [*self.phases]


def read_order(text: str, ascending: bool) -> RunOrder:
    """Return the order by a field of a run, written as in a filter; `metric:NAME` is the last value of a metric."""
    kind, colon, name = text.partition(":")
    if kind == "metric" and name and colon:
        field = Field("metrics", name)
    else:
        best = f"{'min' if ascending else 'max'}("
        field = parse_field(best + text[5:] if text.startswith("best(") else text)
    if field.kind == "created":
        return RunOrder(field, runs, None, (), (Phase(runs, (runs.c.key,)),))
    if field.kind == "metrics":
        return _by_metric(field)
    if field.kind in LABELS:
        return _by_label(field)
    if field.kind in _COLUMNS:
        value = column_of(field, time.time())
        there = Phase(runs, (value, runs.c.key), (value.is_not(None),))
        return RunOrder(field, runs, None, (value,), (there, Phase(runs, (runs.c.key,), (value.is_(None),))))
    raise InvalidInput(
        f"runs cannot be ordered by {text!r}",
        "use created, started, ended, duration, name, metrics.NAME, min(metrics.NAME), params.NAME or tags.NAME",
    )


def _by_metric(field: Field) -> RunOrder:
    c = series.c
    value = c[SUMMARIES[field.summary]]
    own = and_(c.name == field.name, c.system == false())
    phases = (
        Phase(series, (value, c.run), (own, value.is_not(None))),
        Phase(series, (c.run,), (own, value.is_(None))),
        _without(c.run, own),
    )
    return RunOrder(field, series, own, (value,), phases)


def _by_label(field: Field) -> RunOrder:
    c = run_labels.c
    own = and_(c.kind == LABELS[field.kind], c.name == field.name)
    phases = (
        Phase(run_labels, (c.number, c.head, c.run), (own, c.number.is_not(None))),
        Phase(run_labels, (c.head, c.run), (own, c.number.is_(None), c.head.is_not(None))),
        Phase(run_labels, (c.run,), (own, c.number.is_(None), c.head.is_(None))),
        _without(c.run, own),
    )
    return RunOrder(field, run_labels, own, (c.number, c.head), phases)


def _without(owner: ColumnElement[int], own: ColumnElement[bool]) -> Phase:
    entry = select(owner).where(owner == runs.c.key, own).correlate(runs).scalar_subquery()
    return Phase(runs, (runs.c.key,), (entry.is_(None),))


def sort(positions: Iterable[Position], ascending: bool) -> list[Position]:
    """Sort positions; the phases keep their order in both directions."""
    by_value = sorted(positions, key=lambda position: (position.phase, *position.values), reverse=not ascending)
    return sorted(by_value, key=lambda position: position.phase)


def is_after(position: Position, other: Position, ascending: bool) -> bool:
    if position.phase != other.phase:
        return position.phase > other.phase
    return position.values > other.values if ascending else position.values < other.values


def write_cursor(order: str, ascending: bool, end: Position) -> str:
    text = json.dumps([order, ascending, end.phase, end.values])
    return base64.urlsafe_b64encode(text.encode()).decode()


def read_cursor(cursor: str, order: str, ascending: bool, phases: Sequence[Phase]) -> Position:
    """Return the position that a cursor of the same order names."""
    try:
        written = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        if isinstance(written, list) and written[:2] == [order, ascending]:
            phase, values = cast("list[Any]", written)[2:]
            position = Position(phase, tuple(values))
            if _fits(position, phases):
                return position
    except (ValueError, TypeError, binascii.Error, UnicodeError):
        pass
    raise InvalidInput(
        f"{cursor[:200]!r} is not a cursor of this query", "use `next` of the page before, with the same order"
    )


def _fits(position: Position, phases: Sequence[Phase]) -> bool:
    phase, values = position
    if type(phase) is not int or not 0 <= phase < len(phases) or not values:
        return False
    columns = phases[phase].columns
    kinds = [(str,) if isinstance(column.type, SafeText) else (int, float) for column in columns]
    if len(values) != len(columns) or type(values[-1]) is not int:
        return False
    return all(type(value) in kind for value, kind in zip(values, kinds, strict=True))
