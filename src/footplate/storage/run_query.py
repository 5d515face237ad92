"""Finding runs: which of them, in which order, page by page.

The order decides the index that is walked (by time, or by a metric), and the walk stops when the page is full: that is
fast as long as enough runs on the way match. A filter that few runs match makes the walk long, so each filter is first
asked, at the cost of looking at no more than `RARE` entries of its own index, whether it is such a one; if it is, its
runs are taken from there and sorted. So neither the number of runs nor the kind of filter changes the time.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, exists, false, func, select, tuple_

from footplate.errors import InvalidInput
from footplate.storage.labels import PROPERTY, RUN_LABELS, TAG
from footplate.storage.schema import experiments, run_labels, runs, series

RARE = 5_000
LARGEST_PAGE = 10_000

_filtered = series.alias("filtered")  # a filter's own look at the series, beside the one that gives the order


@dataclass(frozen=True)
class RunQuery:
    """What `Runs.list` looks for. Tags and properties are (name, value) pairs; value None means "has the name".

    `parent`: "none" for runs at the top, "any", or the id of the parent. `ancestor` takes all below that run, whatever
    `parent` says, unless it names a run. `metric` alone means "has it"; its bounds, and `order="metric:NAME"`, are about
    the value logged last. A metric order leaves out runs without that metric and puts those that ended in NaN last.
    """

    workspace: str
    experiment: str | None = None
    type: str | None = None
    status: tuple[str, ...] = ()
    tags: tuple[tuple[str, str | None], ...] = ()
    properties: tuple[tuple[str, str | None], ...] = ()
    parent: str | None = "none"
    ancestor: str | None = None
    metric: str | None = None
    metric_min: float | None = None
    metric_max: float | None = None
    order: str = "created"
    ascending: bool = False
    limit: int = 100
    cursor: str | None = None


class Filter(NamedTuple):
    """`holds`: the condition on a row of runs. `entries`: the keys of all runs that match, straight from an index."""

    holds: ColumnElement[bool]
    entries: Select[Any]


class Position(NamedTuple):
    """Where a page ended: the value that the runs are sorted by (None: among the NaNs), and the run's key."""

    value: float | None
    key: int


def find(connection: Connection, query: RunQuery) -> tuple[list[int], str | None]:
    """The keys of the runs on this page, in order, and the cursor of the next page if there is one."""
    _check(query)
    after = _read_cursor(query)
    scope = _Scope.of(connection, query)
    if scope is None:
        return [], None
    filters = _filters(query, scope)
    rare = _rarest(connection, filters)
    conditions = [*scope.conditions, *(f.holds for f in filters)]
    if rare is not None:
        conditions.append(runs.c.key.in_(rare))
    if query.order == "created":
        found = _by_time(connection, query, conditions, after)
    else:
        found = _by_metric(connection, query, scope, conditions, after, walk=rare is None)
    page = found[: query.limit]
    return [p.key for p in page], _write_cursor(query, page[-1]) if len(found) > query.limit else None


# ── The two orders ────────────────────────────────────────────────────────────────────────────────────────────────────


def _by_time(
    connection: Connection, query: RunQuery, conditions: list[ColumnElement[bool]], after: Position | None
) -> list[Position]:
    statement = select(runs.c.created, runs.c.key).where(*conditions)
    return _take(connection, query, statement, (runs.c.created, runs.c.key), after, query.limit + 1)


def _by_metric(
    connection: Connection,
    query: RunQuery,
    scope: _Scope,
    conditions: list[ColumnElement[bool]],
    after: Position | None,
    walk: bool,
) -> list[Position]:
    """Numbers first, in order; then the runs whose last value is no number, by age, in either direction."""
    c = series.c
    base = select(c.rank, c.run).where(c.name == query.order.partition(":")[2], c.system == false())
    if scope.experiment is not None:
        base = base.where(c.experiment == scope.experiment)
    if query.order == f"metric:{query.metric}":  # begin the walk where the bounds begin
        base = base.where(*_bounds(query, c.rank))
    if walk:
        # As a question about each entry, so that SQLite keeps to the walk and sorts nothing.
        base = base.where(exists().where(runs.c.key == c.run, *conditions).correlate(series))
    else:
        base = base.join(runs, runs.c.key == c.run).where(*conditions)
    found: list[Position] = []
    if after is None or after.value is not None:
        found = _take(connection, query, base.where(c.rank.is_not(None)), (c.rank, c.run), after, query.limit + 1)
        after = None
    if len(found) <= query.limit:
        rest = query.limit + 1 - len(found)
        found += _take(connection, query, base.where(c.rank.is_(None)), (c.run,), after, rest)
    return found


def _take(
    connection: Connection,
    query: RunQuery,
    statement: Select[Any],
    order: Sequence[ColumnElement[Any]],
    after: Position | None,
    limit: int,
) -> list[Position]:
    if after is not None:
        place, there = tuple_(*order), tuple_(*after[-len(order) :])
        statement = statement.where(place > there if query.ascending else place < there)
    columns = [column.asc() if query.ascending else column.desc() for column in order]
    return [Position(*row) for row in connection.execute(statement.order_by(*columns).limit(limit))]


# ── The filters ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Scope:
    """Where to look: names and ids turned into keys."""

    conditions: list[ColumnElement[bool]]
    experiment: int | None
    ancestor: int | None
    workspace: str

    @classmethod
    def of(cls, connection: Connection, query: RunQuery) -> _Scope | None:
        """None when the experiment, the parent or the ancestor is not there: then no run is either."""
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
        return cls(conditions, experiment, ancestor, query.workspace)

    def experiment_is(self, column: ColumnElement[Any]) -> ColumnElement[bool]:
        if self.experiment is not None:
            return column == self.experiment
        return column.in_(select(experiments.c.key).where(experiments.c.workspace == self.workspace))


def _key_of(connection: Connection, workspace: str, run: str) -> int | None:
    query = select(runs.c.key).where(runs.c.id == run, runs.c.workspace == workspace)
    return connection.execute(query).scalar()


def _filters(query: RunQuery, scope: _Scope) -> list[Filter]:
    filters: list[Filter] = []
    for kind, pairs in ((TAG, query.tags), (PROPERTY, query.properties)):
        for name, value in pairs:
            entries = select(run_labels.c.run).where(
                scope.experiment_is(run_labels.c.experiment), *RUN_LABELS.matches(kind, name, value)
            )
            filters.append(Filter(RUN_LABELS.exists_for(runs.c.key, kind, name, value), entries))
    if query.metric is not None:
        filters.append(_metric_filter(query, scope))
    here = scope.experiment_is(runs.c.experiment)
    if query.status:
        holds = runs.c.status.in_(query.status)
        filters.append(Filter(holds, select(runs.c.key).where(here, holds)))
    if query.type is not None:
        holds = runs.c.type == query.type
        filters.append(Filter(holds, select(runs.c.key).where(here, holds)))
    if scope.ancestor is not None:
        below = _below(query.workspace, scope.ancestor)
        filters.append(Filter(runs.c.key.in_(below), below))
    return filters


def _metric_filter(query: RunQuery, scope: _Scope) -> Filter:
    c = _filtered.c
    conditions = [c.name == query.metric, c.system == false(), *_bounds(query, c.rank)]
    entries = select(c.run).where(scope.experiment_is(c.experiment), *conditions)
    return Filter(exists().where(c.run == runs.c.key, *conditions), entries)


def _bounds(query: RunQuery, rank: ColumnElement[Any]) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if query.metric_min is not None:
        conditions.append(rank >= query.metric_min)
    if query.metric_max is not None:
        conditions.append(rank <= query.metric_max)
    return conditions


def _below(workspace: str, ancestor: int) -> Select[Any]:
    """The keys of all runs below a run, at any depth."""
    c = runs.c
    tree = select(c.key.label("key")).where(c.workspace == workspace, c.parent == ancestor).cte("below", recursive=True)
    tree = tree.union_all(select(c.key).where(c.workspace == workspace, c.parent == tree.c.key))
    return select(tree.c.key)


def _rarest(connection: Connection, filters: list[Filter]) -> list[int] | None:
    """The runs of the filter that the fewest match, or None when all are common."""
    counted: list[tuple[int, Filter]] = []
    for candidate in filters:
        sample = candidate.entries.limit(RARE + 1).subquery()
        count = connection.execute(select(func.count()).select_from(sample)).scalar_one()
        if count <= RARE:
            counted.append((count, candidate))
    if not counted:
        return None
    _, rarest = min(counted, key=lambda pair: pair[0])
    return [row[0] for row in connection.execute(rarest.entries)]


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
