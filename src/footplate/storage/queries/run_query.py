"""Find runs: which ones, in which order, page by page.

Every index that a search uses ends with the run's key, and keys grow in the order of creation. So walking any of them
yields the runs in order, and the walk stops when the page is full. The index is chosen like this:

* A filter that at most `RARE` runs match, which its own index shows cheaply, gives its runs, and they are sorted.
* Otherwise, for the newest runs, the index of a requested label, or of status, type or parent;
* for another order (`run_order`), the index of its values.

All other conditions are checked for each run on the way. So the time depends on the page, not on the number of runs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, and_, false, func, select, true, tuple_

from footplate.domain.runs import run_filter
from footplate.domain.runs.run_filter import Field
from footplate.errors import InvalidInput
from footplate.storage.labels import PROPERTY, RUN_LABELS, TAG
from footplate.storage.queries.run_filter import holds, metric_entries, metric_experiment
from footplate.storage.queries.run_order import (
    Phase,
    Position,
    RunOrder,
    is_after,
    read_cursor,
    read_order,
    sort,
    write_cursor,
)
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
    bounds refer to the last value. `order` is a field as in a filter, `best(metrics.NAME)`, or `metric:NAME`; in both
    directions text follows numbers, and runs without a value come last. `archived` takes only archived runs, or only
    others. `where` is a filter in the language of `domain.runs.run_filter`. The summaries of the metrics `show` are
    returned; `EVERY_METRIC` stands for all of them.
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
        field = read_order(self.order, self.ascending).field
        ordered = field.name if field.kind == "metrics" else None
        return tuple({name: None for name in (ordered, self.metric, *self.show) if name})


class Filter(NamedTuple):
    """`holds`: the condition on a row of runs. `entries`: the keys of all matching runs, if an index gives them.

    `ordered`: the column of `entries` that its index is sorted by, if that is the run's key.
    """

    holds: ColumnElement[bool]
    entries: Select[Any] | None
    ordered: ColumnElement[int] | None = None


def find(connection: Connection, query: RunQuery, rare: int = RARE) -> tuple[list[int], str | None]:
    """Return the keys of the runs on this page, in order, and the cursor of the next page if there is one."""
    order = _check(query)
    phases = order.phases
    after = None if query.cursor is None else read_cursor(query.cursor, query.order, query.ascending, phases)
    scope = _Scope.of(connection, query)
    if scope is None:
        return [], None
    filters = _filters(query, scope)
    few = rarest(connection, [*filters, *([scope.own] if query.order != "created" else [])], rare)
    conditions = [*scope.conditions, *(f.holds for f in filters)]
    if few is not None:
        positions = _sort(connection, query, order, [*conditions, runs.c.key.in_(few)], after)
    elif query.order == "created":
        positions = _walk_time(connection, query, scope, filters, conditions, after)
    else:
        positions = _walk(connection, query, order, scope, conditions, after)
    page = positions[: query.limit]
    is_last = len(positions) <= query.limit
    return [p.key for p in page], None if is_last else write_cursor(query.order, query.ascending, page[-1])


def matching(connection: Connection, query: RunQuery, rare: int = RARE) -> list[ColumnElement[bool]] | None:
    """Return conditions on rows of runs that hold for all runs of the query's pages; None if none can match."""
    scope = _Scope.of(connection, query)
    if scope is None:
        return None
    filters = _filters(query, scope)
    few = rarest(connection, filters, rare)
    conditions = [*scope.conditions, *(f.holds for f in filters)]
    return conditions if few is None else [*conditions, runs.c.key.in_(few)]


# ── Three ways to the page ────────────────────────────────────────────────────────────────────────────────────────────


def _sort(
    connection: Connection,
    query: RunQuery,
    order: RunOrder,
    conditions: list[ColumnElement[bool]],
    after: Position | None,
) -> list[Position]:
    """Sort a few runs, known by their keys."""
    owner = runs.c.key if order.own is None else order.table.c.run
    statement: Select[Any] = select(runs.c.key, owner.label("owner"), *order.values).select_from(runs)
    if order.own is not None:
        # An outer join, because SQLite keeps its order: from the few runs to their values, not the other way round.
        statement = statement.outerjoin(order.table, and_(owner == runs.c.key, order.own))
    rows = connection.execute(statement.where(*conditions)).all()
    positions = [order.place(tuple(row)[2:], row.owner is not None, row.key) for row in rows]
    later = [p for p in positions if after is None or is_after(p, after, query.ascending)]
    return sort(later, query.ascending)


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
            return _take(connection, query, 0, statement, (column,), after)
    return _take(connection, query, 0, select(runs.c.key).where(*conditions), (runs.c.key,), after)


def _walk(
    connection: Connection,
    query: RunQuery,
    order: RunOrder,
    scope: _Scope,
    conditions: list[ColumnElement[bool]],
    after: Position | None,
) -> list[Position]:
    """Walk the phases of an order one after the other, until the page is full."""
    positions: list[Position] = []
    for number, phase in enumerate(order.walk(query.metric, query.where)):
        if after is not None and number < after.phase:
            continue
        statement = _statement(query, order, phase, scope, conditions)
        begin = after if after is not None and number == after.phase else None
        positions += _take(connection, query, number, statement, phase.columns, begin)
        if len(positions) > query.limit:
            break
    return positions


def _statement(
    query: RunQuery, order: RunOrder, phase: Phase, scope: _Scope, conditions: list[ColumnElement[bool]]
) -> Select[Any]:
    if phase.table is runs:
        return select(*phase.columns).where(*conditions, *phase.where)
    c = phase.table.c
    statement = select(*phase.columns).where(*phase.where, _run_is(c.run, conditions))
    if scope.experiment is not None:
        statement = statement.where(c.experiment == scope.experiment)
    if order.field == Field("metrics", query.metric):  # start at the bound
        statement = statement.where(*_bounds(query, c.rank))
    return statement


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
    phase: int,
    statement: Select[Any],
    order: Sequence[ColumnElement[Any]],
    after: Position | None,
) -> list[Position]:
    """Take the page and one more row, to know whether there is a next page."""
    if after is not None:
        place = tuple_(*order)
        there = tuple_(*after.values)
        statement = statement.where(place > there if query.ascending else place < there)
    columns = [column.asc() if query.ascending else column.desc() for column in order]
    rows = connection.execute(statement.order_by(*columns).limit(query.limit + 1)).all()
    return [Position(phase, tuple(row)) for row in rows]


# ── The filters ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Scope:
    """The scope of a query: names and ids resolved to keys."""

    conditions: list[ColumnElement[bool]]
    experiment: int | None
    ancestor: int | None
    workspace: str
    id_begins: ColumnElement[bool] | None

    @property
    def own(self) -> Filter:
        """The scope as a filter: a small experiment, or the children of one run, are few runs."""
        return Filter(true(), select(runs.c.key).where(*self.conditions))

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


def rarest(connection: Connection, filters: list[Filter], rare: int) -> list[int] | None:
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
    _, fewest = min(counted, key=lambda pair: pair[0])
    return list(connection.execute(fewest).scalars().all())


# ── Input and cursors ─────────────────────────────────────────────────────────────────────────────────────────────────


def _check(query: RunQuery) -> RunOrder:
    if not 1 <= query.limit <= LARGEST_PAGE:
        raise InvalidInput(f"limit is {query.limit}", f"give 1 to {LARGEST_PAGE}, and use the cursor for more")
    if query.metric is None and not (query.metric_min is None and query.metric_max is None):
        raise InvalidInput("metric_min and metric_max need a metric", "name it with metric=NAME")
    return read_order(query.order, query.ascending)
