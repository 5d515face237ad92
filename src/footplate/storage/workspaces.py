"""Workspaces and the experiments in them."""

from __future__ import annotations

import builtins
import time
import uuid
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, exists, insert, select, update

from footplate.domain.codec import to_json
from footplate.domain.records import ExperimentView, WorkspaceView
from footplate.domain.replies import SavedView
from footplate.errors import Conflict, NotFound
from footplate.storage.database import Database
from footplate.storage.schema import experiments, runs, saved_views, workspaces

_WORKSPACE = select(workspaces).where(workspaces.c.id == bindparam("workspace"))
_EXPERIMENT = select(experiments).where(
    experiments.c.workspace == bindparam("of_workspace"), experiments.c.name == bindparam("of_name")
)
_COUNT_RUN = (
    update(experiments)
    .where(experiments.c.key == bindparam("experiment"))
    .values(last_number=experiments.c.last_number + 1)
)
_LAST_NUMBER = select(experiments.c.last_number).where(experiments.c.key == bindparam("experiment"))


class Workspaces:
    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, view: WorkspaceView) -> None:
        """Create a workspace. A name that exists in the subscription and resource group is a Conflict."""
        with self._database.write() as connection:
            is_new = self._database.insert_new(connection, workspaces, **to_json(view))
        if not is_new:
            where = f"{view.subscription_id}/{view.resource_group}"
            raise Conflict(f"workspace {view.name!r} exists in {where}", "use it, or choose another name")

    def get(self, id: str) -> WorkspaceView:
        with self._database.read() as connection:
            row = connection.execute(_WORKSPACE, {"workspace": id}).mappings().one_or_none()
        if row is None:
            raise NotFound(f"there is no workspace {id!r}", "make one with: footplate init")
        return WorkspaceView(**row)

    def find(
        self, name: str | None = None, subscription_id: str | None = None, resource_group: str | None = None
    ) -> list[WorkspaceView]:
        """Return the workspaces that match every given field, oldest first."""
        fields = {"name": name, "subscription_id": subscription_id, "resource_group": resource_group}
        conditions = [workspaces.c[column] == value for column, value in fields.items() if value is not None]
        with self._database.read() as connection:
            rows = connection.execute(select(workspaces).where(*conditions).order_by(workspaces.c.created))
            return [WorkspaceView(**row) for row in rows.mappings()]

    def save_view(self, workspace: str, view: SavedView) -> None:
        """Keep a view of the table of runs; one of the same name is replaced."""
        c = saved_views.c
        with self._database.write() as connection:
            connection.execute(delete(saved_views).where(c.workspace == workspace, c.name == view.name))
            connection.execute(insert(saved_views).values(workspace=workspace, **to_json(view)))

    def views(self, workspace: str) -> list[SavedView]:
        c = saved_views.c
        with self._database.read() as connection:
            rows = connection.execute(select(saved_views).where(c.workspace == workspace).order_by(c.name))
            return [SavedView(row.name, row.search, row.modified) for row in rows]

    def delete_view(self, workspace: str, name: str) -> None:
        c = saved_views.c
        with self._database.write() as connection:
            deleted = connection.execute(delete(saved_views).where(c.workspace == workspace, c.name == name))
        if deleted.rowcount == 0:
            raise NotFound(f"there is no view {name!r}", "the page lists the views above the table of runs")


class Experiments:
    def __init__(self, database: Database) -> None:
        self._database = database

    def get_or_create(self, workspace: str, name: str, now: float) -> ExperimentView:
        with self._database.write() as connection:
            return _view(ensure(self._database, connection, workspace, name, now))

    def get(self, id: str) -> ExperimentView:
        with self._database.read() as connection:
            return _view(_row(connection, id))

    def list(self, workspace: str, name: str | None = None, archived: bool | None = None) -> list[ExperimentView]:
        """List experiments, newest first. `archived`: None for all, else only those that are or are not."""
        c = experiments.c
        conditions = [c.workspace == workspace]
        if name is not None:
            conditions.append(c.name == name)
        if archived is not None:
            conditions.append(c.archived.is_not(None) if archived else c.archived.is_(None))
        with self._database.read() as connection:
            rows = connection.execute(
                select(experiments).where(*conditions).order_by(c.created.desc(), c.key.desc())
            ).all()
        return [_view(row) for row in rows]

    def change(
        self,
        id: str,
        archived: float | None = None,
        tags: dict[str, str | None] | None = None,
        remove_tags: builtins.list[str] | tuple[str, ...] = (),
    ) -> None:
        """Change fields. `archived`: the time of archiving, False to restore it, None to leave it."""
        with self._database.write() as connection:
            row = _row(connection, id, lock=True)
            merged = {**row.tags, **(tags or {})}
            changes: dict[str, Any] = {"tags": {k: v for k, v in merged.items() if k not in remove_tags}}
            if archived is not None:
                changes["archived"] = None if archived is False else float(archived)
                changes["updated"] = time.time()
            connection.execute(update(experiments).where(experiments.c.key == row.key).values(**changes))

    def rename(self, id: str, name: str, now: float) -> None:
        """Rename an experiment. A name that exists in the workspace is a Conflict."""
        c = experiments.c
        with self._database.write() as connection:
            row = _row(connection, id, lock=True)
            if name == row.name:
                return
            other = connection.execute(select(c.key).where(c.workspace == row.workspace, c.name == name)).first()
            if other is not None:
                raise Conflict(f"experiment {name!r} exists", "choose another name")
            connection.execute(update(experiments).where(c.key == row.key).values(name=name, updated=now))

    def delete(self, id: str) -> None:
        with self._database.write() as connection:
            row = _row(connection, id, lock=True)
            if connection.execute(select(exists().where(runs.c.experiment == row.key))).scalar():
                raise Conflict(
                    f"experiment {row.name!r} has runs", "archive it instead: only empty ones can be deleted"
                )
            connection.execute(delete(experiments).where(experiments.c.key == row.key))


def ensure(database: Database, connection: Connection, workspace: str, name: str, now: float) -> Row[Any]:
    """Return the row of the experiment, created if needed. NotFound for an unknown workspace."""
    place = {"of_workspace": workspace, "of_name": name}
    row = connection.execute(_EXPERIMENT, place).one_or_none()
    if row is not None:
        return row
    if not connection.execute(select(exists().where(workspaces.c.id == workspace))).scalar():
        raise NotFound(f"there is no workspace {workspace!r}", "make one with: footplate init")
    new: dict[str, Any] = {
        "id": str(uuid.uuid4()),
        "workspace": workspace,
        "name": name,
        "created": now,
        "tags": {},
        "last_number": 0,
    }
    database.insert_new(connection, experiments, **new)
    return connection.execute(_EXPERIMENT, place).one()


def next_number(connection: Connection, experiment: int) -> int:
    """Return the number of the next run in the experiment. The update comes first: it makes others wait."""
    connection.execute(_COUNT_RUN, {"experiment": experiment})
    return connection.execute(_LAST_NUMBER, {"experiment": experiment}).scalar_one()


def _row(connection: Connection, id: str, lock: bool = False) -> Row[Any]:
    query = select(experiments).where(experiments.c.id == id)
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise NotFound(f"there is no experiment {id!r}", "see those that exist with: footplate experiments list")
    return row


def _view(row: Row[Any]) -> ExperimentView:
    return ExperimentView(row.id, row.workspace, row.name, row.created, row.archived, row.tags, row.updated)
