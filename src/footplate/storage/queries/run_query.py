"""Find runs: which ones, in which order, page by page.

Every index that a search uses ends with the run's key, and keys grow in the order of creation. So walking any of them
yields the runs in order, and the walk stops when the page is full. The index is chosen like this:

* A filter that at most `RARE` runs match, which its own index shows cheaply, gives its runs, and they are sorted.
* Otherwise, for the newest runs, the index of a requested label, or of status, type or parent;
* for an order by metric, the index of the last values.

All other conditions are checked for each run on the way. So the time depends on the page, not on the number of runs.
"""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, and_, false, func, select, tuple_

from footplate.domain.runs import run_filter
from footplate.errors import InvalidInput
from footplate.storage.labels import PROPERTY, RUN_LABELS, TAG
from footplate.storage.queries.run_filter import holds, metric_entries, metric_experiment
from footplate.storage.schema import experiments, run_labels, runs, series

RARE = 1_000
EVERY_METRIC = "*"
LARGEST_PAGE = 10_000

_BY_BYTES = {"sqlite": "BINARY", "postgresql": "C"}
_AFTER_ALL = "\U0010ffff"

_filtered = series.alias("filtered")  # the filter's own use of the table, beside the one that gives the order


@dataclass(frozen=True)
class RunQuery:
    """A query of `Runs.list`. Tags and properties are (name, value) pairs; value None means "has the name".

    `prefix` is the beginning of the id. `parent`: "none" for top-level runs, "any", or the id of the parent. `ancestor`
    takes all runs below that run, whatever `parent` is, unless it names a run. `metric` alone means "has it"; its
    bounds, and `order="metric:NAME"`, refer to the last value. An order by metric omits runs without it, and puts runs
    last whose value is NaN or not a number. `archived` takes only archived runs, or only others. `where` is a filter in
    the language of `domain.runs.run_filter`. The last values of the metrics `show` are returned; `EVERY_METRIC` stands
    for all of them.
    """

    workspace: str
    experiment: str | None = None
    prefix: str | None = None
    type: str | None = None
    status: tuple[str, ...] = ()
    tags: tuple[tuple[str, str | None], ...] = ()
    properties: tuple[tuple[str, str | None], ...] = ()
    parent: str | None = "none"
    ancestor: str | None = None
    metric: str | None = None
    metric_min: float | None = None
    metric_max: float | None = None
    archived: bool | None = None
    where: str | None = None
    show: tuple[str, ...] = ()
    order: str = "created"
    ascending: bool = False
    limit: int = 100
    cursor: str | None = None

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics to return: those to show, of the filter and of the order."""
        order = self.order.partition(":")[2]
        return tuple({name: None for name in (order, self.metric, *self.show) if name})


class Filter(NamedTuple):
    """`holds`: the condition on a row of runs. `entries`: the keys of all matching runs, if an index gives them.

    `ordered`: the column of `entries` that its index is sorted by, if that is the run's key.
    """

    holds: ColumnElement[bool]
    entries: Select[Any] | None
    ordered: ColumnElement[int] | None = None


class Position(NamedTuple):
    """A position in the order: the number that the run is sorted by, if any, and its key."""

    value: float | None
    key: int


def find(connection: Connection, query: RunQuery, rare: int = RARE) -> tuple[list[int], str | None]:
    """Return the keys of the runs on this page, in order, and the cursor of the next page if there is one."""
    _check(query)
    after = _read_cursor(query)
    scope = _Scope.of(connection, query)
    if scope is None:
        return [], None
    filters = _filters(query, scope)
    few = _rarest(connection, filters, rare)
    conditions = [*scope.conditions, *(f.holds for f in filters)]
    if few is not None:
        positions = _sort(connection, query, [*conditions, runs.c.key.in_(few)], after)
    elif query.order == "created":
        positions = _walk_time(connection, query, scope, filters, conditions, after)
    else:
        positions = _walk_metric(connection, query, scope, conditions, after)
    page = positions[: query.limit]
    return [p.key for p in page], _write_cursor(query, page[-1]) if len(positions) > query.limit else None


# ── Three ways to the page ────────────────────────────────────────────────────────────────────────────────────────────


def _sort(
    connection: Connection, query: RunQuery, conditions: list[ColumnElement[bool]], after: Position | None
) -> list[Position]:
    """Sort a few runs, known by their keys."""
    if query.order == "created":
        return _take(connection, query, select(runs.c.key).where(*conditions), (runs.c.key,), after)
    # An outer join, because SQLite keeps its order: from the few runs to their series, not the other way round.
    c = series.c
    statement = select(c.rank, c.run).select_from(runs).outerjoin(series, (c.run == runs.c.key) & _match_order(query))
    rows = connection.execute(statement.where(*conditions)).all()
    positions = [Position(*row) for row in rows if row.run is not None]
    sign = 1 if query.ascending else -1

    def place(position: Position) -> tuple[bool, float, int]:
        return position.value is None, sign * (position.value or 0.0), sign * position.key

    return sorted((p for p in positions if after is None or place(p) > place(after)), key=place)


def _walk_time(
    connection: Connection,
    query: RunQuery,
    scope: _Scope,
    filters: list[Filter],
    conditions: list[ColumnElement[bool]],
    after: Position | None,
) -> list[Position]:
    for entries, column in ((f.entries, f.ordered) for f in filters):
        if entries is not None and column is not None and scope.experiment is not None:
            statement = entries.with_only_columns(column).where(_run_is(column, conditions))
            return _take(connection, query, statement, (column,), after)
    return _take(connection, query, select(runs.c.key).where(*conditions), (runs.c.key,), after)


def _walk_metric(
    connection: Connection,
    query: RunQuery,
    scope: _Scope,
    conditions: list[ColumnElement[bool]],
    after: Position | None,
) -> list[Position]:
    """Walk the numbers in order, then the runs whose last value is not a number, by age."""
    c = series.c
    base = select(c.rank, c.run).where(_match_order(query), _run_is(c.run, conditions))
    if scope.experiment is not None:
        base = base.where(c.experiment == scope.experiment)
    if query.order == f"metric:{query.metric}":  # start at the bound
        base = base.where(*_bounds(query, c.rank))
    positions: list[Position] = []
    if after is None or after.value is not None:
        positions = _take(connection, query, base.where(c.rank.is_not(None)), (c.rank, c.run), after)
        after = None
    if len(positions) <= query.limit:
        positions += _take(connection, query, base.where(c.rank.is_(None)), (c.run,), after)
    return positions


def _match_order(query: RunQuery) -> ColumnElement[bool]:
    return and_(series.c.name == query.order.partition(":")[2], series.c.system == false())


def _run_is(key: ColumnElement[int], conditions: list[ColumnElement[bool]]) -> ColumnElement[bool]:
    """Build a condition that is evaluated per entry, so that the database keeps walking the index and sorts nothing.

    EXISTS would not do: PostgreSQL turns it into a join, begins with all matching runs, and sorts them.
    """
    return (
        select(runs.c.key).where(runs.c.key == key, *conditions).correlate_except(runs).scalar_subquery().is_not(None)
    )


def _take(
    connection: Connection,
    query: RunQuery,
    statement: Select[Any] | Select[Any, Any],
    order: Sequence[ColumnElement[Any]],
    after: Position | None,
) -> list[Position]:
    """Take the page and one more row, to know whether there is a next page."""
    if after is not None:
        place = tuple_(*order)
        there = tuple_(*after[-len(order) :])
        statement = statement.where(place > there if query.ascending else place < there)
    columns = [column.asc() if query.ascending else column.desc() for column in order]
    rows = connection.execute(statement.order_by(*columns).limit(query.limit + 1)).all()
    return [Position(row[0] if len(row) == 2 else None, row[-1]) for row in rows]


# ── The filters ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Scope:
    """The scope of a query: names and ids resolved to keys."""

    conditions: list[ColumnElement[bool]]
    experiment: int | None
    ancestor: int | None
    workspace: str
    id_begins: ColumnElement[bool] | None

    @classmethod
    def of(cls, connection: Connection, query: RunQuery) -> _Scope | None:
        """Return None when the experiment, the parent or the ancestor does not exist: then no run matches."""
        conditions: list[ColumnElement[bool]] = []
        experiment = ancestor = None
        if query.experiment is not None:
            c = experiments.c
            where = (c.workspace == query.workspace, c.name == query.experiment)
            experiment = connection.execute(select(c.key).where(*where)).scalar()
            if experiment is None:
                return None
            conditions.append(runs.c.experiment == experiment)
        else:
            conditions.append(runs.c.workspace == query.workspace)
        if query.ancestor is not None:
            ancestor = _key_of(connection, query.workspace, query.ancestor)
            if ancestor is None:
                return None
        if query.parent in (None, "none") and ancestor is None:
            conditions.append(runs.c.parent == 0)
        elif query.parent not in (None, "none", "any"):
            parent = _key_of(connection, query.workspace, str(query.parent))
            if parent is None:
                return None
            conditions.append(runs.c.parent == parent)
        if query.archived is not None:
            conditions.append(runs.c.archived.is_not(None) if query.archived else runs.c.archived.is_(None))
        begins = None if query.prefix is None else _begins(connection, query.prefix)
        return cls(conditions, experiment, ancestor, query.workspace, begins)

    def experiment_is(self, column: ColumnElement[Any]) -> ColumnElement[bool]:
        if self.experiment is not None:
            return column == self.experiment
        return column.in_(select(experiments.c.key).where(experiments.c.workspace == self.workspace))


def _begins(connection: Connection, prefix: str) -> ColumnElement[bool]:
    """Match a range of ids, which SQLite's index answers directly; by bytes, even where PostgreSQL uses a collation."""
    id = runs.c.id.collate(_BY_BYTES[connection.dialect.name])
    return and_(id >= prefix, id < prefix + _AFTER_ALL)


def _key_of(connection: Connection, workspace: str, run: str) -> int | None:
    query = select(runs.c.key).where(runs.c.id == run, runs.c.workspace == workspace)
    return connection.execute(query).scalar()


def _filters(query: RunQuery, scope: _Scope) -> list[Filter]:
    filters: list[Filter] = []
    if scope.id_begins is not None:
        filters.append(Filter(scope.id_begins, select(runs.c.key).where(scope.id_begins)))
    for kind, pairs in ((TAG, query.tags), (PROPERTY, query.properties)):
        for name, value in pairs:
            entries = select(run_labels.c.run).where(
                scope.experiment_is(run_labels.c.experiment), *RUN_LABELS.matches(kind, name, value)
            )
            ordered = run_labels.c.run if value is not None else None
            filters.append(Filter(RUN_LABELS.exists_for(runs.c.key, kind, name, value), entries, ordered))
    if query.metric is not None:
        filters.append(_metric_filter(query, scope))
    here = scope.experiment_is(runs.c.experiment)
    if query.status:
        holds = runs.c.status.in_(query.status)
        filters.append(Filter(holds, select(runs.c.key).where(here, holds)))
    if query.type is not None:
        holds = runs.c.type == query.type
        filters.append(Filter(holds, select(runs.c.key).where(here, holds)))
    if query.where is not None:
        filters += _where_filters(query.where, scope)
    if scope.ancestor is not None:
        below = _below(query.workspace, scope.ancestor)
        filters.append(Filter(runs.c.key.in_(below), below))
    return filters


def _where_filters(text: str, scope: _Scope) -> list[Filter]:
    """Return one filter for each condition that must hold; comparisons of metrics have an index of their own."""
    now = time.time()
    filters: list[Filter] = []
    for condition in run_filter.conjuncts(run_filter.parse(text, now)):
        entries = metric_entries(condition)
        if entries is not None:
            entries = entries.where(scope.experiment_is(metric_experiment()))
        filters.append(Filter(holds(condition, now), entries))
    return filters


def _metric_filter(query: RunQuery, scope: _Scope) -> Filter:
    c = _filtered.c
    conditions = [c.name == query.metric, c.system == false(), *_bounds(query, c.rank)]
    entries = select(c.run).where(scope.experiment_is(c.experiment), *conditions)
    holds = select(c.run).where(c.run == runs.c.key, *conditions).correlate(runs).scalar_subquery().is_not(None)
    return Filter(holds, entries)


def _bounds(query: RunQuery, rank: ColumnElement[Any]) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if query.metric_min is not None:
        conditions.append(rank >= query.metric_min)
    if query.metric_max is not None:
        conditions.append(rank <= query.metric_max)
    return conditions


def _below(workspace: str, ancestor: int) -> Select[Any]:
    """Select the keys of all runs below a run, at any depth."""
    c = runs.c
    tree = select(c.key.label("key")).where(c.workspace == workspace, c.parent == ancestor).cte("below", recursive=True)
    tree = tree.union_all(select(c.key).where(c.workspace == workspace, c.parent == tree.c.key))
    return select(tree.c.key)


def _rarest(connection: Connection, filters: list[Filter], rare: int) -> list[int] | None:
    """Return the runs of the filter with the fewest matches, or None when all are common."""
    counted: list[tuple[int, Select[Any]]] = []
    for candidate in filters:
        if candidate.entries is None:
            continue
        sample = candidate.entries.limit(rare + 1).subquery()
        count = connection.execute(select(func.count()).select_from(sample)).scalar_one()
        if count <= rare:
            counted.append((count, candidate.entries))
    if not counted:
        return None
    _, rarest = min(counted, key=lambda pair: pair[0])
    return list(connection.execute(rarest).scalars().all())


# ── Input and cursors ─────────────────────────────────────────────────────────────────────────────────────────────────


def _check(query: RunQuery) -> None:
    if not 1 <= query.limit <= LARGEST_PAGE:
        raise InvalidInput(f"limit is {query.limit}", f"give 1 to {LARGEST_PAGE}, and use the cursor for more")
    if query.order != "created" and (not query.order.startswith("metric:") or query.order == "metric:"):
        raise InvalidInput(f"runs cannot be ordered by {query.order!r}", "use 'created' or 'metric:NAME'")
    if query.metric is None and not (query.metric_min is None and query.metric_max is None):
        raise InvalidInput("metric_min and metric_max need a metric", "name it with metric=NAME")


def _write_cursor(query: RunQuery, end: Position) -> str:
    text = json.dumps([query.order, query.ascending, end.value, end.key])
    return base64.urlsafe_b64encode(text.encode()).decode()


def _read_cursor(query: RunQuery) -> Position | None:
    if query.cursor is None:
        return None
    try:
        order, ascending, value, key = json.loads(base64.urlsafe_b64decode(query.cursor.encode()))
        if (order, ascending) == (query.order, query.ascending) and type(key) is int:
            return Position(None if value is None else float(value), key)
    except (ValueError, TypeError, binascii.Error, UnicodeError):
        pass
    raise InvalidInput(
        f"{query.cursor[:200]!r} is not a cursor of this query", "use `next` of the page before, with the same order"
    )
