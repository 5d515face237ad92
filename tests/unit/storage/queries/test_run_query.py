"""Listing costs the same however many runs there are: no sorting on the way, no query per run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import event, insert

from footplate.domain.codec import to_json
from footplate.domain.records import WorkspaceView
from footplate.domain.specs import RunSpec
from footplate.storage import RunQuery, Storage, schema
from footplate.storage.queries.run_query import find

COMMON = 300


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    """A store with enough runs for the planner to choose."""
    store = Storage.open(tmp_path_factory.mktemp("home"))
    store.workspaces.create(WorkspaceView("w", "ws", "sub", "group", "local", 1.0))
    store.experiments.get_or_create("w", "e", 1.0)
    spec = to_json(RunSpec(experiment="e"))
    shared: dict[str, Any] = {
        "workspace": "w", "experiment": 1, "parent": 0, "kind": "job", "stage": "ended", "status": "Completed",
        "version": 1, "attempt": 1, "target": "local", "node_count": 1, "created_by": "", "warnings": [], "nodes": [],
        "type": "t", "created": 1.0,
    }  # fmt: skip
    keys = range(1, COMMON + 1)
    label = {"kind": "tag", "name": "team", "value": "red", "head": "red", "experiment": 1}
    points = {"system": False, "name": "loss", "experiment": 1, "place": 1, "kind": "scalar", "count": 1, "dropped": 0}
    with store.database.write() as connection:
        connection.execute(insert(schema.runs), [{**shared, "key": k, "id": f"r-{k}", "number": k} for k in keys])
        connection.execute(insert(schema.run_specs), [{"run": k, "spec": spec} for k in keys])
        connection.execute(insert(schema.run_labels), [{**label, "run": k} for k in keys])
        connection.execute(
            insert(schema.series),
            [{**points, "run": k, "rank": k / 7, "min": 1.0, "max": k, "last_time": 1.0} for k in keys],
        )
    yield store
    store.close()


@pytest.fixture
def statements(store: Storage) -> Iterator[list[tuple[str, Any]]]:
    seen: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        seen.append((statement, parameters))

    event.listen(store.database.engine, "before_cursor_execute", note)
    yield seen
    event.remove(store.database.engine, "before_cursor_execute", note)


@pytest.mark.parametrize(
    "query",
    [
        RunQuery("w", "e"),
        RunQuery("w"),
        RunQuery("w", "e", parent="any"),
        RunQuery("w", parent="any", ascending=True),
        RunQuery("w", "e", status=("Completed",)),
        RunQuery("w", "e", type="t"),
        RunQuery("w", "e", prefix="r-"),
        RunQuery("w", "e", tags=(("team", "red"),)),
        RunQuery("w", "e", tags=(("team", "red"),), status=("Completed",), ascending=True),
        RunQuery("w", "e", order="metric:loss"),
        RunQuery("w", "e", status=("Completed",), order="metric:loss"),
        RunQuery("w", "e", status=("Completed",), tags=(("team", "red"),), order="metric:loss", ascending=True),
        RunQuery("w", status=("Completed",), order="metric:loss"),
        RunQuery("w", "e", metric="loss", metric_min=3.0, order="metric:loss"),
        RunQuery("w", order="min(metrics.loss)"),
        RunQuery("w", order="metrics.loss", where="metrics.loss < 20 and metrics.loss > 1"),
        RunQuery("w", order="best(metrics.loss)", status=("Completed",)),
        RunQuery("w", "e", order="tags.team", ascending=True),
        RunQuery("w", order="params.lr"),
        RunQuery("w", order="started"),
        RunQuery("w", order="ended", ascending=True),
    ],
    ids=repr,
)
@pytest.mark.parametrize("later", [False, True])
def test_a_walk_sorts_nothing(store: Storage, statements: list[tuple[str, Any]], query: RunQuery, later: bool) -> None:
    with store.database.read() as connection:
        page, cursor = find(connection, replace(query, limit=10), rare=1)
        if later:
            statements.clear()
            page, _ = find(connection, replace(query, limit=10, cursor=cursor), rare=1)
        assert len(page) == 10
        for statement, parameters in [s for s in statements if "ORDER BY" in s[0]]:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
            assert not any("TEMP B-TREE" in row[3] or row[3].startswith("SCAN") for row in plan), plan


@pytest.mark.parametrize("limit", [1, 200])
def test_a_page_takes_as_many_queries_as_a_run(store: Storage, statements: list[tuple[str, Any]], limit: int) -> None:
    views, cursor = store.runs.list(RunQuery("w", "e", order="metric:loss", status=("Completed",), limit=limit))
    assert len(views) == limit and cursor is not None
    selects = [s for s, _ in statements if s.startswith(("SELECT", "WITH"))]
    assert len(selects) <= 8, selects


def test_a_rare_filter_is_found_by_its_own_index(store: Storage, statements: list[tuple[str, Any]]) -> None:
    store.runs.change("r-3", tags={"team": "blue"})
    statements.clear()
    views, _ = store.runs.list(RunQuery("w", "e", tags=(("team", "blue"),), order="metric:loss"))
    assert [v.id for v in views] == ["r-3"]
    with store.database.read() as connection:
        statement, parameters = next(s for s in statements if "LEFT OUTER JOIN series" in s[0])
        plan = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()]
    assert plan[0].startswith("SEARCH runs") and "rowid=?" in plan[0]
    assert plan[-1].startswith("SEARCH series") and "run=?" in plan[-1]


def test_an_id_prefix_uses_the_index_of_ids(store: Storage, statements: list[tuple[str, Any]]) -> None:
    views, _ = store.runs.list(RunQuery("w", prefix="r-30"))
    assert [v.id for v in views] == ["r-300", "r-30"]
    with store.database.read() as connection:
        statement, parameters = next(s for s in statements if "count(" in s[0])
        plan = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()]
    assert any(step.startswith("SEARCH runs") and "(id>? AND id<?)" in step for step in plan), plan
