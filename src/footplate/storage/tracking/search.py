"""Searches for runs in the grammar of trackers: conditions that must all hold, and any number of keys to sort by.

There are three ways to the page, as in `queries.run_query`: a condition that few runs satisfy gives its runs, which are
sorted; an order by one metric or label walks its index, which has the values in order; anything else walks or sorts
the runs of the experiments.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, case, false, func, literal, or_, select

from footplate.domain.runs import tracking
from footplate.domain.runs.tracking import Condition, Ordering, RunSearch
from footplate.storage.labels import PARAMETER, TAG
from footplate.storage.queries.run_query import RARE, Filter, rarest
from footplate.storage.schema import HEAD_CHARACTERS, experiments, run_inputs, run_labels, runs, series

_c = runs.c
_parents = runs.alias("searched_parents")
_KINDS = {"parameter": PARAMETER, "tag": TAG}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

NAME = func.coalesce(_c.display_name, _c.name, _c.id)
_PARENT = select(_parents.c.id).where(_parents.c.key == _c.parent).correlate(runs).scalar_subquery()
_FIELDS: dict[str, ColumnElement[Any]] = {tracking.NAME: NAME, tracking.PARENT: _PARENT, tracking.NOTE: _c.description}
_EXPERIMENT = select(experiments.c.id).where(experiments.c.key == _c.experiment).correlate(runs).scalar_subquery()
_ATTRIBUTES: dict[str, ColumnElement[Any]] = {
    "run_id": _c.id,
    "run_name": NAME,
    "user_id": _c.created_by,
    "status": case(
        *((_c.status == ours, literal(theirs)) for ours, theirs in tracking.STATUSES.items()),
        (_c.status.in_(tracking.ACTIVE_STATUSES), literal("RUNNING")),
        else_=literal("SCHEDULED"),
    ),
    "artifact_uri": literal("mlflow-artifacts:/") + _EXPERIMENT + "/" + _c.id + "/artifacts",
    "start_time": func.round(func.coalesce(_c.started, _c.created) * 1000),
    "end_time": func.round(_c.ended * 1000),
}
_SORTED: dict[str, ColumnElement[Any]] = {**_ATTRIBUTES, "start_time": _c.started, "end_time": _c.ended}


class RunSearcher:
    """Finds runs in one database. `is_sqlite`: LIKE is spelled GLOB there, because its LIKE ignores case."""

    def __init__(self, is_sqlite: bool) -> None:
        self._is_sqlite = is_sqlite

    def find(self, connection: Connection, search: RunSearch) -> list[int]:
        """Return the keys of the runs on this page and of the next one, in order."""
        chosen = select(experiments.c.key).where(
            experiments.c.workspace == search.workspace, experiments.c.id.in_(search.experiments)
        )
        keys = list(connection.execute(chosen).scalars())
        filters = [self._filter(condition, keys) for condition in search.conditions]
        conditions = [_c.experiment.in_(keys), func.coalesce(_c.type, "") != tracking.MODEL_HOST]
        if search.archived is not None:
            conditions.append(_c.archived.is_not(None) if search.archived else _c.archived.is_(None))
        few = rarest(connection, filters, RARE)
        conditions += [each.holds for each in filters]
        if few is not None:
            return _sort(connection, search, [*conditions, _c.key.in_(few)])
        if len(search.order) == 1 and search.order[0].kind != "attribute" and len(keys) == 1:
            page = _walk(connection, search, keys[0], conditions)
            if len(page) > search.limit:
                return page
        return _sort(connection, search, conditions)

    def _filter(self, condition: Condition, keys: Sequence[int]) -> Filter:
        if condition.kind == "metric":
            c = series.alias("compared").c
            where = [c.name == condition.key, c.system == false(), self._compare(c.rank, condition)]
            return _of_entries(c, where, keys, has_index=condition.operator != "!=")
        if condition.kind == "dataset":
            c = run_inputs.alias("compared").c
            return _of_entries(c, [c.kind == "dataset", self._compare(c[condition.key], condition)], keys)
        if condition.kind == "attribute":
            return Filter(self._compare(_ATTRIBUTES[condition.key], condition), None)
        c = run_labels.alias("compared").c
        where = [c.kind == _KINDS[condition.kind], c.name == condition.key]
        if condition.operator in ("IS NULL", "IS NOT NULL"):
            label_filter = _of_entries(c, where, keys, has_index=False)
        else:
            if condition.operator == "=":
                where.append(c.head == condition.value[:HEAD_CHARACTERS])
            where.append(self._compare(c.value, condition))
            label_filter = _of_entries(c, where, keys, has_index=condition.operator == "=")
        return self._of_field(condition, label_filter) if condition.kind == "tag" and condition.key in _FIELDS else (
            label_filter if condition.operator != "IS NULL" else Filter(~label_filter.holds, None)
        )  # fmt: skip

    def _of_field(self, condition: Condition, label: Filter) -> Filter:
        """Return the filter of a tag that is a field of the run; a parent that does not exist is only a label."""
        column = _FIELDS[condition.key]
        if condition.operator == "IS NULL":
            return Filter(and_(column.is_(None), ~label.holds), None)
        if condition.operator == "IS NOT NULL":
            return Filter(or_(column.is_not(None), label.holds), None)
        if condition.key == tracking.PARENT and condition.operator == "=":
            key = select(_parents.c.key).where(_parents.c.id == condition.value).scalar_subquery()
            return Filter(or_(_c.parent == func.coalesce(key, -1), label.holds), None)
        return Filter(or_(func.coalesce(self._compare(column, condition), false()), label.holds), None)

    def _compare(self, column: ColumnElement[Any], condition: Condition) -> ColumnElement[bool]:
        name, value = condition.operator, condition.value
        if name == "IN":
            return column.in_(value)
        if name == "NOT IN":
            return column.not_in(value)
        if name == "ILIKE":
            return column.ilike(value)
        if name == "LIKE":
            return column.op("GLOB")(_glob(value)) if self._is_sqlite else column.like(value)
        return _COMPARE[name](column, value)


def _glob(pattern: str) -> str:
    """Return a pattern of LIKE as one of GLOB, which distinguishes upper and lower case."""
    special = {"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"}
    return "".join(special.get(letter, letter) for letter in pattern)


def _of_entries(c: Any, where: list[ColumnElement[bool]], keys: Sequence[int], has_index: bool = True) -> Filter:
    holds = select(c.run).where(c.run == _c.key, *where).correlate(runs).limit(1).scalar_subquery().is_not(None)
    return Filter(holds, select(c.run).where(c.experiment.in_(keys), *where) if has_index else None)


# ── Orders ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _walk(connection: Connection, search: RunSearch, experiment: int, where: list[ColumnElement[bool]]) -> list[int]:
    """Walk the index of the values that the runs are sorted by. Runs without a value come after all of these."""
    order = search.order[0]
    if order.kind == "tag" and order.key in _FIELDS:
        return []
    if order.kind == "metric":
        entries = series.alias("sorted")
        mine = [entries.c.system == false(), entries.c.name == order.key, entries.c.rank.is_not(None)]
        values = [entries.c.rank]
    else:
        entries = run_labels.alias("sorted")
        mine = [entries.c.kind == _KINDS[order.kind], entries.c.name == order.key, entries.c.value.is_not(None)]
        values = [entries.c.head, entries.c.value]
    query = select(_c.key).select_from(entries.join(runs, _c.key == entries.c.run))
    query = query.where(entries.c.experiment == experiment, *mine, *where)
    by_value = [value.asc() if order.ascending else value.desc() for value in values]
    query = query.order_by(*by_value, _c.started.desc().nulls_last(), _c.id)
    return _page(connection, search, query)


def _sort(connection: Connection, search: RunSearch, where: list[ColumnElement[bool]]) -> list[int]:
    query = select(_c.key).where(*where)
    by: list[ColumnElement[Any]] = []
    for order in search.order:
        query, missing, value = _sorted_by(query, order)
        by += [missing, value.asc() if order.ascending else value.desc()]
    if not any(order.key == "start_time" and order.kind == "attribute" for order in search.order):
        by.append(_c.started.desc().nulls_last())
    return _page(connection, search, query.order_by(*by, _c.id))


def _sorted_by(query: Select[Any], order: Ordering) -> tuple[Select[Any], ColumnElement[Any], ColumnElement[Any]]:
    """Join the values that runs are sorted by; return the query, whether a run has no value, and the value."""
    if order.kind == "attribute":
        column = _SORTED[order.key]
        return query, column.is_(None), column
    if order.kind == "tag" and order.key in _FIELDS:
        return query, _FIELDS[order.key].is_(None), _FIELDS[order.key]
    if order.kind == "metric":
        table = series.alias()
        mine = and_(table.c.run == _c.key, table.c.system == false(), table.c.name == order.key)
        rank = table.c.rank
        return query.outerjoin(table, mine), case((table.c.run.is_(None), 2), (rank.is_(None), 1), else_=0), rank
    table = run_labels.alias()
    mine = and_(table.c.run == _c.key, table.c.kind == _KINDS[order.kind], table.c.name == order.key)
    return query.outerjoin(table, mine), table.c.value.is_(None), table.c.value


def _page(connection: Connection, search: RunSearch, query: Select[Any]) -> list[int]:
    return list(connection.execute(query.limit(search.limit + 1).offset(search.offset)).scalars())
