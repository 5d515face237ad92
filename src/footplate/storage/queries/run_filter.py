"""Filters of runs (`domain.runs.run_filter`) as conditions of the database, evaluated per run and never by a join.

A comparison with a missing field is false, not NULL, so that `not` has its everyday meaning.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, false, func, not_, or_, select

from footplate.domain.runs import run_filter
from footplate.domain.runs.run_filter import Comparison, Condition, Field, Has, Not
from footplate.storage.labels import PARAMETER, PROPERTY, TAG
from footplate.storage.schema import experiments, run_labels, runs, series

LABELS = {"params": PARAMETER, "tags": TAG, "properties": PROPERTY}
SUMMARIES = {"last": "rank", "min": "min", "max": "max"}
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_logged = series.alias("logged")
_labelled = run_labels.alias("labelled")


def holds(condition: Condition, now: float) -> ColumnElement[bool]:
    """Return the condition on a row of runs."""
    if isinstance(condition, Not):
        return not_(holds(condition.condition, now))
    if isinstance(condition, run_filter.All):
        return and_(*(holds(each, now) for each in condition.conditions))
    if isinstance(condition, run_filter.Any):
        return or_(*(holds(each, now) for each in condition.conditions))
    if condition.field.name is not None:
        return _exists(_entry(condition))
    assert isinstance(condition, Comparison)
    column = column_of(condition.field, now)
    return and_(column.is_not(None), _compare(column, condition))


def metric_entries(condition: Condition) -> Select[Any] | None:
    """Select the runs that a comparison of a metric allows, straight from the index of the metrics' last values."""
    if isinstance(condition, (Comparison, Has)) and condition.field.kind == "metrics":
        return select(_logged.c.run).where(*_metric_conditions(condition))
    return None


def metric_experiment() -> ColumnElement[Any]:
    """Return the column of `metric_entries` that limits it to experiments."""
    return _logged.c.experiment


def _entry(condition: Comparison | Has) -> Select[Any]:
    """Select the row that holds the named value, if it satisfies the comparison."""
    field = condition.field
    if field.kind == "metrics":
        return select(_logged.c.run).where(_logged.c.run == runs.c.key, *_metric_conditions(condition))
    c = _labelled.c
    where = [c.run == runs.c.key, c.kind == LABELS[field.kind], c.name == field.name]
    if isinstance(condition, Comparison):
        where.append(_compare(c.value if isinstance(condition.value, str) else c.number, condition))
    return select(c.run).where(*where)


def _metric_conditions(condition: Comparison | Has) -> list[ColumnElement[bool]]:
    c, field = _logged.c, condition.field
    where = [c.name == field.name, c.system == false()]
    if isinstance(condition, Comparison):
        where.append(_compare(c[SUMMARIES[field.summary]], condition))
    return where


def _exists(entry: Select[Any]) -> ColumnElement[bool]:
    """EXISTS would not do: PostgreSQL turns it into a join, begins with all matching entries, and sorts the runs."""
    return entry.correlate(runs).scalar_subquery().is_not(None)


def _compare(column: ColumnElement[Any], condition: Comparison) -> ColumnElement[bool]:
    if condition.operator == "~":
        return func.lower(column).contains(str(condition.value).lower(), autoescape=True)
    return OPERATORS[condition.operator](column, condition.value)


def column_of(field: Field, now: float) -> ColumnElement[Any]:
    """Return the column or expression for a field that is not named."""
    c = runs.c
    if field.kind == "experiment":
        return select(experiments.c.name).where(experiments.c.key == c.experiment).correlate(runs).scalar_subquery()
    if field.kind == "duration":
        return func.coalesce(c.ended, now) - c.started
    if field.kind == "name":
        return func.coalesce(c.display_name, c.name)
    return {"by": c.created_by, "note": c.description}.get(field.kind, c.get(field.kind))  # pyright: ignore
