"""Names and values of the fields of runs, for completion, and groups of runs with the same value.

A page asks for them while somebody types, so names are read by skipping from one to the next in an index, and values
are counted among the newest runs only: neither takes longer with more runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, false, func, select

from footplate.domain.replies import FieldName, FieldValue, MetricSpread, RunGroup
from footplate.domain.runs.run_filter import Field, parse_field
from footplate.errors import InvalidInput
from footplate.storage.database import Database
from footplate.storage.queries.run_filter import LABELS, column_of
from footplate.storage.queries.run_query import RunQuery, matching
from footplate.storage.schema import experiments, run_labels, runs, series

NEWEST = 5_000
"""Runs among which values are counted."""

_COLUMNS = ("status", "type", "target", "by", "experiment")


class RunFields:
    def __init__(self, database: Database) -> None:
        self._database = database

    def names(self, workspace: str, kind: str, experiment: str | None, prefix: str, limit: int) -> list[FieldName]:
        """Return names of `metrics`, `params`, `tags` or `properties` in alphabetical order."""
        with self._database.read() as connection:
            scope = select(experiments.c.key).where(experiments.c.workspace == workspace)
            scope = scope if experiment is None else scope.where(experiments.c.name == experiment)
            key = None if experiment is None else connection.execute(scope).scalar()
            if experiment is not None and key is None:
                return []
            statement = _names(kind, scope, key).limit(limit)
            skipped = statement.selected_columns[0]
            if prefix:
                statement = statement.where(_begins(skipped, prefix))
            return [FieldName(name) for name in connection.execute(statement).scalars()]

    def values(self, workspace: str, field: str, experiment: str | None, prefix: str, limit: int) -> list[FieldValue]:
        """Return values of a field among the newest runs, the most frequent first."""
        value = _value(_grouping(field))
        newest = select(runs.c.key).where(runs.c.workspace == workspace)
        with self._database.read() as connection:
            if experiment is not None:
                where = (experiments.c.workspace == workspace, experiments.c.name == experiment)
                newest = newest.where(runs.c.experiment == select(experiments.c.key).where(*where).scalar_subquery())
            newest = newest.order_by(runs.c.key.desc()).limit(NEWEST)
            valued = select(value.label("value")).where(runs.c.key.in_(newest.subquery().select())).subquery()
            counted = select(valued.c.value, func.count().label("runs")).where(valued.c.value.is_not(None))
            if prefix:
                counted = counted.where(_begins(valued.c.value, prefix))
            counted = counted.group_by(valued.c.value).order_by(func.count().desc(), valued.c.value).limit(limit)
            return [FieldValue(*row) for row in connection.execute(counted)]

    def groups(self, query: RunQuery, by: str, limit: int) -> list[RunGroup]:
        """Group the runs of a query by the value of a field, the largest group first.

        Each has the spread of the last values of the metrics that the query shows.
        """
        value = _value(_grouping(by))
        with self._database.read() as connection:
            conditions = matching(connection, query)
            if conditions is None:
                return []
            chosen = select(runs.c.key, runs.c.created, value.label("value")).where(*conditions).subquery()
            counted = select(chosen.c.value, func.count(), func.max(chosen.c.created)).group_by(chosen.c.value)
            rows = connection.execute(counted.order_by(func.count().desc(), chosen.c.value).limit(limit)).all()
            spreads = _spreads(connection, chosen, query.show)
        return [RunGroup(value, count, newest, spreads.get(value, {})) for value, count, newest in rows]


def _spreads(connection: Connection, chosen: Any, metrics: Sequence[str]) -> dict[Any, dict[str, MetricSpread]]:
    if not metrics:
        return {}
    c = series.c
    logged = and_(c.run == chosen.c.key, c.system == false(), c.name.in_(metrics))
    statement = select(chosen.c.value, c.name, func.count(c.rank), func.min(c.rank), func.avg(c.rank), func.max(c.rank))
    # An outer join, because SQLite keeps its order: from the runs to their series, not the other way round.
    statement = statement.select_from(chosen).outerjoin(series, logged).group_by(chosen.c.value, c.name)
    spreads: dict[Any, dict[str, MetricSpread]] = {}
    for value, name, *spread in connection.execute(statement):
        if spread[0]:
            spreads.setdefault(value, {})[name] = MetricSpread(*spread)
    return spreads


def _grouping(text: str) -> Field:
    field = parse_field(text)
    if field.kind not in LABELS and field.kind not in _COLUMNS:
        raise InvalidInput(
            f"runs have no groups by {text!r}", f"use params.NAME, tags.NAME, properties.NAME, {', '.join(_COLUMNS)}"
        )
    return field


def _value(field: Field) -> ColumnElement[Any]:
    if field.kind not in LABELS:
        return column_of(field, 0.0)
    c = run_labels.c
    own = (c.run == runs.c.key, c.kind == LABELS[field.kind], c.name == field.name)
    return select(c.value).where(*own).correlate(runs).scalar_subquery()


def _names(kind: str, scope: Select[Any], experiment: int | None) -> Select[Any]:
    """Select names by stepping from each to the next one in an index."""
    if kind != "metrics" and kind not in LABELS:
        raise InvalidInput(f"{kind!r} has no names", f"use metrics, {', '.join(LABELS)}")
    table = series if kind == "metrics" else run_labels
    c = table.c
    own: list[ColumnElement[bool]] = [] if kind == "metrics" else [c.kind == LABELS[kind]]
    if experiment is not None:
        own.append(c.experiment == experiment)
    first = select(func.min(c.name).label("name")).where(*own).cte("names", recursive=True)
    following = select(func.min(c.name)).where(*own, c.name > first.c.name).scalar_subquery()
    names = first.union_all(select(following).where(first.c.name.is_not(None)))
    # A name belongs to the user's metrics or to the machine's samples: its first entry in an experiment decides,
    # because looking for another would read all entries of `system/…`.
    is_machine = c.system if kind == "metrics" else false()
    entry = select(is_machine).where(*own, c.name == names.c.name, c.experiment == experiments.c.key).limit(1)
    holder = scope.where(entry.correlate(names, experiments).scalar_subquery() == false()).limit(1)
    is_here = holder.correlate(names).scalar_subquery().is_not(None)
    return select(names.c.name).where(names.c.name.is_not(None), is_here)


def _begins(column: ColumnElement[Any], prefix: str) -> ColumnElement[bool]:
    return func.lower(column).startswith(prefix.lower(), autoescape=True)
