"""Delete runs that have ended, with their records, metrics, logs and list of files, and whole workspaces.

The content of files stays until `garbage` finds that nothing else refers to it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, delete, func, select

from footplate.domain.records import Stage
from footplate.errors import Conflict, NotFound
from footplate.storage.database import Database
from footplate.storage.datastores import Datastores
from footplate.storage.run_keys import RunKeys, no_such_run
from footplate.storage.schema import (
    computes,
    dataset_versions,
    datasets,
    datastores,
    default_datastores,
    endpoints,
    environment_labels,
    environments,
    experiments,
    files,
    journals,
    logged_models,
    model_datasets,
    model_versions,
    models,
    registered_models,
    roles,
    run_datasets,
    run_inputs,
    run_labels,
    run_specs,
    runs,
    saved_views,
    secrets,
    series,
    story,
    workspaces,
)
from footplate.storage.series.metrics import Metrics

_BATCH = 500
_OF_RUNS = (series, journals, files, run_labels, story, run_datasets, run_inputs, run_specs)
_OF_WORKSPACES = (
    models, model_versions, registered_models, logged_models, datasets, dataset_versions,
    environments, environment_labels, computes, secrets, datastores, default_datastores, experiments,
    roles, saved_views,
)  # fmt: skip


class RunDeletion:
    def __init__(self, home: Path, database: Database, keys: RunKeys, metrics: Metrics) -> None:
        self._folder = home / "runs"
        self._database = database
        self._keys = keys
        self._metrics = metrics

    def delete(self, run: str, force: bool = False) -> list[str]:
        """Delete a run and its descendants; return their ids. An active one is a Conflict.

        So is one that registered models were made by, unless `force` is given: the models stay.
        """
        with self._database.write() as connection:
            family = self._family(connection, run)
            ids = [row.id for row in family]
            _check_ended(connection, family)
            if not force:
                _check_unused(connection, ids)
            self._keys.forget(ids)
            for keys in _batches([row.key for row in family]):
                for table in _OF_RUNS:
                    connection.execute(delete(table).where(table.c.run.in_(keys)))
                connection.execute(delete(runs).where(runs.c.key.in_(keys)))
        self._metrics.forget({row.key for row in family}, ids)
        for id in ids:
            shutil.rmtree(self._folder / id, ignore_errors=True)
        return ids

    def _family(self, connection: Connection, run: str) -> list[Any]:
        """Return the rows of the run and its descendants, held until the transaction ends."""
        columns = select(runs.c.key, runs.c.id, runs.c.parent, runs.c.stage, runs.c.status).with_for_update()
        family = list(connection.execute(columns.where(runs.c.id == run)).all())
        if not family:
            raise no_such_run(run)
        level = [row.key for row in family]
        while level:
            children = [
                row
                for keys in _batches(level)
                for row in connection.execute(columns.where(runs.c.parent.in_(keys))).all()
            ]
            family += children
            level = [row.key for row in children]
        return family


class WorkspaceDeletion:
    def __init__(self, database: Database, run_deletion: RunDeletion, stores: Datastores) -> None:
        self._database = database
        self._runs = run_deletion
        self._stores = stores

    def delete(self, workspace: str, name: str, force: bool = False) -> None:
        """Delete a workspace. One that is not empty is a Conflict, unless `force` deletes everything in it.

        Active runs and web services are a Conflict in any case.
        """
        with self._database.read() as connection:
            _check_idle(connection, workspace, name)
            if not force:
                self._check_empty(connection, workspace, name)
            where = (runs.c.workspace == workspace, runs.c.parent == 0)
            top = list(connection.execute(select(runs.c.id).where(*where)).scalars())
        for run in top:
            with suppress(NotFound):  # deleted by somebody else meanwhile
                self._runs.delete(run, force=True)
        with self._database.write() as connection:
            _check_idle(connection, workspace, name)
            key = select(models.c.key).where(models.c.workspace == workspace)
            connection.execute(delete(model_datasets).where(model_datasets.c.model.in_(key)))
            for table in _OF_WORKSPACES:
                connection.execute(delete(table).where(table.c.workspace == workspace))
            connection.execute(delete(workspaces).where(workspaces.c.id == workspace))
        self._stores.remove_built_in(workspace)

    def _check_empty(self, connection: Connection, workspace: str, name: str) -> None:
        contents = list[str]()
        for table in (runs, models, datasets, secrets):
            query = select(func.count()).select_from(table).where(table.c.workspace == workspace)
            count = connection.execute(query).scalar_one()
            contents += [f"{count} {table.name if count > 1 else table.name[:-1]}"] if count else []
        contents += ["data in its built-in datastores"] if self._stores.has_built_in_data(workspace) else []
        if contents:
            raise Conflict(
                f"workspace {name!r} is not empty: it has {', '.join(contents)}",
                "delete what is in it first, or everything at once with --force",
            )


def _check_idle(connection: Connection, workspace: str, name: str) -> None:
    query = select(runs.c.id, runs.c.status).where(runs.c.workspace == workspace, runs.c.stage != Stage.ENDED.value)
    service = connection.execute(select(endpoints.c.name).where(endpoints.c.workspace == workspace)).scalar()
    if service is not None:
        raise Conflict(
            f"workspace {name!r} has the web service {service!r}",
            f"delete it first: footplate endpoints delete {service}",
        )
    active = connection.execute(query.limit(1)).one_or_none()
    if active is not None:
        raise Conflict(
            f"run {active.id} of workspace {name!r} is {active.status}",
            f"cancel it first: footplate runs cancel {active.id}",
        )


def _check_ended(connection: Connection, family: Sequence[Any]) -> None:
    active = next((row for row in family if row.stage != Stage.ENDED.value), None)
    if active is not None:
        raise Conflict(f"run {active.id} is {active.status}", f"cancel it first: footplate runs cancel {active.id}")
    query = select(runs.c.id, runs.c.stage).where(runs.c.key == family[0].parent)
    parent = connection.execute(query).one_or_none()
    if parent is not None and parent.stage != Stage.ENDED.value:
        raise Conflict(
            f"run {family[0].id} is a child of {parent.id}, which has not ended",
            f"wait for its end, or cancel it: footplate runs cancel {parent.id}",
        )


def _check_unused(connection: Connection, ids: Sequence[str]) -> None:
    for batch in _batches(ids):
        query = select(models.c.name, models.c.version, models.c.run).where(models.c.run.in_(batch))
        model = connection.execute(query.order_by(models.c.key).limit(1)).one_or_none()
        if model is not None:
            raise Conflict(
                f"model {model.name}:{model.version} was made by run {model.run}",
                "delete the model first, or repeat with --force (force=True): the model keeps its files and loses "
                "the record of its origin",
            )


def _batches(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    starts: Iterable[int] = range(0, len(values), _BATCH)
    return (values[start : start + _BATCH] for start in starts)
