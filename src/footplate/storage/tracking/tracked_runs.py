"""Runs with all that was logged to them, read in a few queries however many runs there are."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Text, bindparam, false, func, select, type_coerce, update

from footplate.domain.runs.tracking import LOCATION, LastPoint, RunInput, RunSearch, TrackedRun
from footplate.errors import NotFound
from footplate.storage.database import Database
from footplate.storage.labels import RUN_LABELS
from footplate.storage.run_keys import RunKeys, no_such_run
from footplate.storage.schema import experiments, run_inputs, runs, series
from footplate.storage.tracking.search import NAME, RunSearcher

_BATCH = 5_000
_parents = runs.alias("tracked_parents")
_RUNS = (
    select(runs.c.key, runs.c.id, experiments.c.id.label("experiment"), experiments.c.name.label("experiment_name"))
    .add_columns(NAME.label("name"), runs.c.created_by, runs.c.status)
    .add_columns(func.coalesce(runs.c.started, runs.c.created).label("started"), runs.c.ended, runs.c.archived)
    .add_columns(_parents.c.id.label("parent"), runs.c.description)
    .add_columns(type_coerce(experiments.c.tags, Text).label("location"))
    .join(experiments, experiments.c.key == runs.c.experiment)
    .outerjoin(_parents, _parents.c.key == runs.c.parent)
    .where(runs.c.key.in_(bindparam("keys", expanding=True)))
)
_PLACE = select(runs.c.workspace, runs.c.archived).where(runs.c.id == bindparam("run"))
_METRICS = (
    select(series.c.run, series.c.name, series.c.rank, series.c.last_time, series.c.last_step)
    .add_columns(type_coerce(series.c.last, Text).label("last"))
    .where(series.c.run.in_(bindparam("keys", expanding=True)), series.c.system == false(), series.c.kind == "scalar")
)
_INPUTS = select(run_inputs).where(run_inputs.c.run.in_(bindparam("keys", expanding=True))).order_by(run_inputs.c.place)


class TrackedRuns:
    def __init__(self, database: Database, keys: RunKeys) -> None:
        self._database = database
        self._keys = keys
        self._searcher = RunSearcher(database.sqlite)

    def get(self, run: str, workspace: str) -> TrackedRun:
        with self._database.read() as connection:
            key = self._keys.of(run, connection).key
            owner = connection.execute(select(runs.c.workspace).where(runs.c.key == key)).scalar_one()
            if owner != workspace:
                raise NotFound(f"there is no run {run!r} in this workspace", "look in its own workspace")
            return _read(connection, [key])[0]

    def place(self, run: str) -> tuple[str, float | None]:
        """Return the workspace of a run and when it was archived."""
        row = self._database.one(_PLACE, {"run": run})
        if row is None:
            raise no_such_run(run)
        return row.workspace, row.archived

    def search(self, search: RunSearch) -> tuple[list[TrackedRun], bool]:
        """Return a page of runs, and whether there are more."""
        with self._database.read() as connection:
            keys = self._searcher.find(connection, search)
            return _read(connection, keys[: search.limit]), len(keys) > search.limit

    def add_inputs(self, run: str, new: Sequence[RunInput]) -> None:
        """Add inputs and outputs of a run. Those that it has are replaced, so that a repeated request adds nothing."""
        with self._database.write() as connection:
            key, experiment = self._keys.of(run, connection)
            self._database.hold(connection, runs.c.key, key)
            last = select(func.max(run_inputs.c.place)).where(run_inputs.c.run == key)
            start = 1 + (connection.execute(last).scalar() or 0)
            identity = ("run", "kind", "name", "digest")
            for place, each in enumerate(new, start):
                row = {"run": key, "experiment": experiment, "place": place, **each._asdict()}
                self._database.put(connection, run_inputs, identity, row)

    def datasets(self, experiments_: Iterable[str]) -> list[tuple[str, RunInput]]:
        """Return the datasets that runs of these experiments have read, each once per context."""
        query = select(experiments.c.id.label("of"), run_inputs)
        query = query.join(experiments, experiments.c.key == run_inputs.c.experiment)
        query = query.where(experiments.c.id.in_(list(experiments_)), run_inputs.c.kind == "dataset")
        by_identity: dict[tuple[Any, ...], tuple[str, RunInput]] = {}
        for row in self._database.all(query.order_by(run_inputs.c.run, run_inputs.c.place)):
            by_identity.setdefault((row.of, row.name, row.digest, row.context), (row.of, _input(row)))
        return list(by_identity.values())

    def archive_experiment(self, experiment: str, when: float | None, since: float | None = None) -> None:
        """Archive the active runs of an experiment at `when`; None restores those that were archived at `since`."""
        key = select(experiments.c.key).where(experiments.c.id == experiment).scalar_subquery()
        stage = runs.c.archived.is_(None) if when is not None else runs.c.archived == since
        self._database.execute(update(runs).where(runs.c.experiment == key, stage).values(archived=when))


def _read(connection: Connection, keys: Sequence[int]) -> list[TrackedRun]:
    return [run for start in range(0, len(keys), _BATCH) for run in _batch(connection, keys[start : start + _BATCH])]


def _batch(connection: Connection, keys: Sequence[int]) -> Iterator[TrackedRun]:
    chosen = {"keys": list(keys)}
    rows = {row["key"]: dict(row) for row in connection.execute(_RUNS, chosen).mappings()}
    labels = RUN_LABELS.of(connection, keys)
    metrics: dict[int, list[LastPoint]] = defaultdict(list)
    for run, name, rank, time, step, last in connection.execute(_METRICS, chosen):
        value = rank if rank is not None else _number(last)
        if value is not None:
            metrics[run].append(LastPoint(name, value, time, step))
    inputs: dict[int, list[RunInput]] = defaultdict(list)
    for row in connection.execute(_INPUTS, chosen):
        inputs[row.run].append(_input(row))
    for key in keys:
        own = labels[key]
        fields: dict[str, Any] = rows[key]
        del fields["key"]
        fields["location"] = _location(fields["location"])
        yield TrackedRun(
            **fields, tags=own.tags, parameters=own.parameters, metrics=metrics[key], inputs=inputs[key]
        )  # fmt: skip


def _location(tags: str) -> str | None:
    """Return the tag of an experiment that says where its artifacts are, from the text of all its tags."""
    return json.loads(tags).get(LOCATION) if LOCATION in tags else None


def _number(text: str | None) -> float | None:
    """Return a last value that the index cannot hold: NaN; None for text and for other values."""
    value = None if text is None else json.loads(text)
    return value if isinstance(value, float) and math.isnan(value) else None


def _input(row: Any) -> RunInput:
    return RunInput(row.kind, row.name, row.digest, row.context, row.details)
