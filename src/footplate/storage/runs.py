"""Runs: the record that the lifecycle decides about, its history, and the view that people see."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, Select, false, func, or_, select, union_all, update

from footplate.domain.access.people import Maker
from footplate.domain.codec import from_json, to_json
from footplate.domain.orders import checkpoint_folders
from footplate.domain.records import (
    NodeRecord,
    NodeState,
    Outcome,
    RunHome,
    RunRecord,
    RunView,
    Stage,
    StoryLine,
    Waiting,
)
from footplate.domain.replies import RunCount
from footplate.domain.runs import run_status
from footplate.domain.runs.controllers import Child, ChildMetric, child_key
from footplate.domain.runs.events import ATTEMPT_STARTED, GroupDecided, RunAdmitted
from footplate.domain.runs.parameters import parameters_of
from footplate.domain.runs.run_kinds import GROUP, INTERACTIVE
from footplate.domain.scaling import Stay
from footplate.domain.specs import RunSpec, check_run_id
from footplate.errors import Conflict, InvalidInput
from footplate.storage.database import Database, new_key
from footplate.storage.labels import RUN_LABELS, Found
from footplate.storage.lineage import record_inputs
from footplate.storage.queries import run_statements as statements
from footplate.storage.queries.run_query import EVERY_METRIC, LARGEST_PAGE, RunQuery, find, matching
from footplate.storage.run_files import copy_outputs
from footplate.storage.run_keys import RecentRecords, RunKeys, no_such_run
from footplate.storage.schema import runs, series, story
from footplate.storage.workspaces import ensure, next_number

__all__ = ["RunQuery", "Runs"]

_ADMITTED = RunAdmitted.__name__
_COMING = (NodeState.LAUNCHED.value,)
_PREPARING = (NodeState.JOINED.value, NodeState.PREPARING.value, NodeState.PREPARED.value)
_AT_WORK = tuple(state.value for state in NodeState if state.value not in (*_COMING, *_PREPARING))


class Runs:
    """Runs. Every method is one transaction; an unknown id is NotFound."""

    def __init__(self, database: Database, keys: RunKeys) -> None:
        self._database = database
        self._keys = keys
        self._recent = RecentRecords()

    # ── Write ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def create(
        self, record: RunRecord, created_by: str, lines: builtins.list[StoryLine], person: str | None = None
    ) -> None:
        """Store a new run with the next number of its experiment, created if needed. An existing id is a Conflict.

        `created_by` is shown; `person` owns the run, and None is the owner of the server.
        """
        check_run_id(record.id)
        spec = record.spec
        begun = self._recent.begin(record.id)
        with self._database.write() as connection:
            if connection.execute(statements.PLACE, {"run": record.id}).scalar() is not None:
                raise Conflict(f"run {record.id!r} exists", "give the new run another id")
            home = ensure(self._database, connection, record.workspace, spec.experiment, record.created)
            values = {
                **_columns(record), "id": record.id, "workspace": record.workspace, "experiment": home.key,
                "parent": self._parent_key(connection, record), "number": next_number(connection, home.key),
                "kind": spec.kind, "type": spec.type, "created": record.created, "name": spec.name,
                "display_name": spec.display_name, "description": spec.description, "target": spec.target,
                "node_count": spec.distribution.node_count, "snapshot": spec.snapshot, "created_by": created_by,
                "person": person,
            }  # fmt: skip
            key = new_key(connection.execute(statements.INSERT_RUN, values))
            connection.execute(statements.INSERT_SPEC, {"run": key, "spec": to_json(spec)})
            parameters = parameters_of(spec.program)
            RUN_LABELS.add(connection, key, spec.tags, spec.properties, parameters, experiment=home.key)
            record_inputs(connection, key, spec.inputs)
            if spec.outputs_from is not None:
                folders = (*spec.collect, *checkpoint_folders(spec.distribution.node_count))
                copy_outputs(connection, spec.outputs_from, key, folders)
            last_line = _add_lines(connection, key, lines, 0)
        self._keys.put(record.id, key, home.key)
        self._recent.put(record, last_line, begun)

    def _parent_key(self, connection: Connection, record: RunRecord) -> int:
        parent = record.spec.parent
        if parent is None:
            return 0
        row = connection.execute(statements.PLACE, {"run": parent}).one_or_none()
        if row is None:
            raise no_such_run(parent)
        if row.workspace != record.workspace:
            raise InvalidInput(
                f"run {parent!r} is in another workspace", "a child lives in the workspace of its parent"
            )
        return row.key

    def save(self, record: RunRecord, expected_version: int, lines: builtins.list[StoryLine]) -> bool:
        """Store the record if the stored one still has that version; return False when another writer was first."""
        begun = self._recent.begin(record.id)
        with self._database.write() as connection:
            key = self._keys.of(record.id, connection).key
            values = {**_columns(record), "saved": key, "expected": expected_version}
            if connection.execute(statements.SAVE, values).rowcount == 0:
                return False
            if begun.version == expected_version:
                last_line = begun.last_line
            else:
                last_line = connection.execute(statements.LAST_LINE, {"run": key}).scalar() or 0
            last_line = _add_lines(connection, key, lines, last_line)
        self._recent.put(record, last_line, begun)
        return True

    def change(
        self,
        id: str,
        display_name: str | None = None,
        description: str | None = None,
        tags: dict[str, str | None] | None = None,
        remove_tags: Sequence[str] = (),
        properties: dict[str, str] | None = None,
        parameters: dict[str, str] | None = None,
        archived: float | None = None,
    ) -> None:
        """Change fields; None leaves a field as it is. A property with another value is a Conflict.

        `archived` is the time of archiving; 0 restores the run.
        """
        fields = {"display_name": display_name, "description": description, "archived": archived}
        changes = {name: None if value == 0 else value for name, value in fields.items() if value is not None}
        with self._database.write() as connection:
            key, experiment = self._keys.of(id, connection)
            self._database.hold(connection, runs.c.key, key)
            if changes:
                connection.execute(update(runs).where(runs.c.key == key).values(**changes))
            RUN_LABELS.change(connection, key, tags, remove_tags, properties, experiment=experiment)
            RUN_LABELS.set_parameters(connection, key, parameters or {}, experiment=experiment)

    def set_snapshot(self, id: str, digest: str) -> None:
        """Set the snapshot once. The same snapshot again changes nothing."""
        with self._database.write() as connection:
            key = self._keys.of(id, connection).key
            where = (runs.c.key == key, runs.c.snapshot.is_(None))
            if connection.execute(update(runs).where(*where).values(snapshot=digest)).rowcount == 0:
                have = connection.execute(select(runs.c.snapshot).where(runs.c.key == key)).scalar_one()
                raise Conflict(f"run {id} has a snapshot: {have}", "a run takes one snapshot in its life")

    # ── Read ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def record(self, id: str) -> RunRecord:
        if (record := self._recent.get(id)) is not None:
            return record
        row = self._database.one(statements.RECORD, {"run": id})
        if row is None:
            raise no_such_run(id)
        return _record(row)

    def view(self, id: str) -> RunView:
        with self._database.read() as connection:
            return _views(connection, [self._keys.of(id, connection).key], with_spec=True)[0]

    def home(self, id: str) -> RunHome:
        """Return the workspace and the experiment of a run."""
        with self._database.read() as connection:
            experiment = self._keys.of(id, connection).experiment
            row = connection.execute(statements.HOME, {"experiment": experiment}).mappings().one()
        return RunHome(**row)

    def creator(self, id: str) -> Maker:
        """Return who submitted the run, and its workspace."""
        row = self._database.one(statements.CREATOR, {"run": id})
        if row is None:
            raise no_such_run(id)
        return Maker(*row)

    def views(self, ids: Sequence[str]) -> builtins.list[RunView]:
        """Return the views of existing runs in the order of `ids`, without their specs."""
        with self._database.read() as connection:
            rows = connection.execute(select(runs.c.id, runs.c.key).where(runs.c.id.in_(list(ids))))
            keys: dict[str, int] = {row.id: row.key for row in rows}
            return _views(connection, [keys[id] for id in ids if id in keys])

    def list(self, query: RunQuery) -> tuple[builtins.list[RunView], str | None]:
        """Return one page, with the last values of the metrics in the query, and the cursor of the next page."""
        with self._database.read() as connection:
            keys, cursor = find(connection, query)
            return _with_metrics(connection, keys, _views(connection, keys), query.metrics), cursor

    def count(self, query: RunQuery, up_to: int = LARGEST_PAGE) -> RunCount:
        """Count the runs of all pages, up to a limit: counting a million takes seconds."""
        with self._database.read() as connection:
            conditions = matching(connection, query)
            if conditions is None:
                return RunCount(0, False)
            some = select(runs.c.key).where(*conditions).limit(up_to + 1).subquery()
            count = connection.execute(select(func.count()).select_from(some)).scalar_one()
        return RunCount(min(count, up_to), count > up_to)

    def children(self, id: str, recursive: bool = False) -> builtins.list[RunView]:
        """Return all children, oldest first."""
        workspace = self.view(id).workspace
        query = RunQuery(workspace, ascending=True, limit=LARGEST_PAGE)
        query = replace(query, ancestor=id) if recursive else replace(query, parent=id)
        views, cursor = self.list(query)
        while cursor is not None:
            more, cursor = self.list(replace(query, cursor=cursor))
            views += more
        return views

    def active(self, with_nodes: bool = False) -> builtins.list[RunRecord]:
        """Return all runs that have not ended, oldest first; `with_nodes`: only those that an engine runs."""
        return self._records(statements.ACTIVE_WITH_NODES if with_nodes else statements.ACTIVE_RECORDS)

    def active_interactive(self) -> builtins.list[RunRecord]:
        """Return all interactive runs that have not ended, oldest first."""
        return self._records(statements.ACTIVE_RECORDS.where(runs.c.kind == INTERACTIVE))

    def active_groups(self) -> builtins.list[RunRecord]:
        """Return all groups that have not ended, oldest first."""
        return self._records(statements.ACTIVE_RECORDS.where(runs.c.kind == GROUP))

    def children_of(
        self, group: str, metrics: Sequence[str] = (), only: Iterable[str] | None = None
    ) -> builtins.list[Child]:
        """Return the children of a group as its controller sees them, oldest first, with summaries of metrics.

        `only` names the runs to return; None returns all children.
        """
        with self._database.read() as connection:
            values = {"group": self._keys.of(group, connection).key, "metrics": builtins.list(metrics)}
            if only is None:
                rows = connection.execute(statements.CHILDREN, values).all()
            else:
                rows = connection.execute(statements.SOME_CHILDREN, {**values, "only": sorted(only)}).all()
        by_child: dict[str, builtins.list[Row[Any]]] = {}
        for row in rows:
            by_child.setdefault(row.id, []).append(row)
        return [_child(group, of_child) for of_child in by_child.values()]

    def _records(self, query: Select[Any]) -> builtins.list[RunRecord]:
        rows = self._database.all(query)
        return [_record(row) for row in rows]

    def busy_nodes(self, workspace: str, target: str) -> int:
        """Count the nodes of the target that runs hold, from provisioning to finalizing."""
        c = runs.c
        where = (c.stage.in_(statements.HOLDING), c.workspace == workspace, c.target == target, statements.HAS_NODES)
        with self._database.read() as connection:
            return int(connection.execute(select(func.sum(c.node_count)).where(*where)).scalar() or 0)

    def stays(self, workspace: str, target: str, since: float) -> builtins.list[Stay]:
        """Return when runs held nodes of the target, per attempt: current ones, and those that ended `since`."""
        c = runs.c
        of_target = (c.workspace == workspace, c.target == target, statements.HAS_NODES)
        since_then = (c.stage == Stage.ENDED.value, c.ended > since)
        turns = or_(story.c.event.in_((_ADMITTED, ATTEMPT_STARTED)), story.c.status.in_(run_status.TERMINAL))
        query = select(c.key, c.node_count, c.nodes, story.c.time, story.c.event, story.c.seq)
        query = query.join(story, story.c.run == c.key).where(*of_target, turns)
        # Walks of the index on stages, sorted here: with OR, or with ORDER BY, SQLite would walk through all runs of
        # the workspace instead. A run that ended with its first attempt, as almost all do, costs one short row.
        unfinished = query.where(c.stage.in_(statements.ACTIVE))
        repeated = query.where(*since_then, c.attempt > 1)
        once = select(c.node_count, story.c.time, c.ended).join(story, story.c.run == c.key)
        once = once.where(*of_target, *since_then, c.attempt == 1, story.c.event == _ADMITTED)
        with self._database.read() as connection:
            lines = connection.execute(union_all(unfinished, repeated)).all()
            stays = [Stay(*row) for row in connection.execute(once)]
        in_order = sorted(lines, key=lambda line: (line.key, line.seq))
        for _, of_run in itertools.groupby(in_order, key=lambda line: line.key):
            stays += _stays_of(builtins.list(of_run))
        return stays

    def notes(self, id: str) -> builtins.list[Any]:
        """Return the notes that the controller of a group has taken, in order."""
        with self._database.read() as connection:
            key = self._keys.of(id, connection).key
            where = (story.c.run == key, story.c.event == GroupDecided.__name__)
            rows = connection.execute(select(story.c.data).where(*where).order_by(story.c.seq)).scalars()
            return [note for data in rows for note in data.get("notes", ())]

    def story(self, id: str) -> builtins.list[StoryLine]:
        with self._database.read() as connection:
            key = self._keys.of(id, connection).key
            rows = connection.execute(select(story).where(story.c.run == key).order_by(story.c.seq)).all()
        return [StoryLine(r.seq, r.time, r.event, r.status, r.text, r.data) for r in rows]


def _stays_of(lines: Sequence[Any]) -> builtins.list[Stay]:
    """Return the stays from each admission to the end of its attempt; the record has the nodes of the last one."""
    stays: builtins.list[Stay] = []
    for line in lines:
        if line.event == _ADMITTED:
            stays.append(Stay(line.node_count, line.time))
        elif stays and stays[-1].ended is None:
            stays[-1] = replace(stays[-1], ended=line.time)
    if stays and stays[-1].ended is None:
        run_status = [node["state"] for node in lines[0].nodes]
        coming, running = (sum(state in those for state in run_status) for those in (_COMING, _AT_WORK))
        stays[-1] = replace(stays[-1], coming=coming, running=running)
    return stays


# ── Rows and values ───────────────────────────────────────────────────────────────────────────────────────────────────


def _columns(record: RunRecord) -> dict[str, Any]:
    """Return the columns that the lifecycle changes."""
    return {
        "status": run_status.status(record), "stage": record.stage.value, "version": record.version,
        "attempt": record.attempt, "started": record.started, "ended": record.ended, "lock": record.lock,
        "handle": record.handle, "waiting": to_json(record.waiting), "outcome": to_json(record.outcome),
        "warnings": to_json(record.warnings), "nodes": to_json(record.nodes),
        "revivals": record.revivals, "wake_at": record.wake_at, "group": record.group,
    }  # fmt: skip


def _fields(row: Row[Any]) -> dict[str, Any]:
    """Return the fields that a record and a view have in common."""
    return {
        "id": row.id, "workspace": row.workspace, "stage": Stage(row.stage), "created": row.created,
        "version": row.version, "attempt": row.attempt, "started": row.started, "ended": row.ended, "lock": row.lock,
        "waiting": from_json(Waiting, row.waiting) if row.waiting else None,
        "outcome": from_json(Outcome, row.outcome) if row.outcome else None,
        "warnings": tuple(row.warnings), "nodes": tuple(from_json(NodeRecord, node) for node in row.nodes),
    }  # fmt: skip


def _record(row: Row[Any]) -> RunRecord:
    controlled = {"revivals": row.revivals, "wake_at": row.wake_at, "group": row.group}
    return RunRecord(spec=from_json(RunSpec, row.spec), handle=row.handle, **controlled, **_fields(row))


def _child(group: str, rows: Sequence[Row[Any]]) -> Child:
    """Return a child from its rows, one for each metric that it has logged, or one without."""
    row = rows[0]
    return Child(
        child_key(group, row.id), row.id, row.status, row.attempt, row.created, row.started, row.ended,
        from_json(Outcome, row.outcome) if row.outcome else None,
        {logged.metric: _summary(logged) for logged in rows if logged.metric is not None},
    )  # fmt: skip


def _summary(row: Row[Any]) -> ChildMetric:
    last = row.last if isinstance(row.last, (int, float)) else None
    return ChildMetric(row.logged, last, row.min, row.max)


def _view(row: Row[Any], labels: Found, spec: RunSpec | None) -> RunView:
    return RunView(
        **_fields(row), experiment=row.experiment_name, experiment_id=row.experiment_id, number=row.number,
        kind=row.kind, type=row.type, status=row.status, parent=row.parent_id, has_children=row.has_children,
        name=row.name, display_name=row.display_name, description=row.description, target=row.target,
        snapshot=row.snapshot, tags=labels.tags, properties=labels.properties, parameters=labels.parameters,
        created_by=row.created_by, archived=row.archived, spec=spec,
    )  # fmt: skip


def _views(connection: Connection, keys: builtins.list[int], with_spec: bool = False) -> builtins.list[RunView]:
    """Build views with at most three queries, however many runs there are."""
    if not keys:
        return []
    rows = {row.key: row for row in connection.execute(statements.VIEWS, {"keys": keys}).all()}
    labels = RUN_LABELS.of(connection, keys)
    specs: dict[int, RunSpec] = {}
    if with_spec:
        stored = connection.execute(statements.SPECS, {"keys": keys})
        specs = {key: from_json(RunSpec, spec) for key, spec in stored}
    return [_view(rows[key], labels[key], specs.get(key)) for key in keys]


def _with_metrics(
    connection: Connection, keys: builtins.list[int], views: builtins.list[RunView], names: Sequence[str]
) -> builtins.list[RunView]:
    if not keys or not names:
        return views
    c = series.c
    metrics: dict[int, dict[str, Any]] = {}
    ranges: dict[int, dict[str, Any]] = {}
    where = [c.run.in_(keys), c.system == false()]
    if EVERY_METRIC not in names:
        where.append(c.name.in_(names))
    for run, name, last, *extremes in connection.execute(select(c.run, c.name, c.last, c.min, c.max).where(*where)):
        metrics.setdefault(run, {})[name] = last
        ranges.setdefault(run, {})[name] = tuple(extremes)
    return [
        replace(view, metrics=metrics.get(key, {}), ranges=ranges.get(key, {}))
        for key, view in zip(keys, views, strict=True)
    ]


def _add_lines(connection: Connection, key: int, lines: builtins.list[StoryLine], last: int) -> int:
    """Add lines to the history after the line `last`; return the number of the new last line.

    The numbers only grow, because the history is read in that order.
    """
    rows: builtins.list[dict[str, Any]] = []
    for line in lines:
        last = max(line.seq, last + 1)
        rows.append({**to_json(line), "run": key, "seq": last})
    if rows:
        connection.execute(statements.INSERT_LINES, rows)
    return last
