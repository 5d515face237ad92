"""Models that runs log before anybody registers them."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from footplate.domain.runs.tracking import LoggedModel
from footplate.errors import NotFound
from footplate.storage.database import Database
from footplate.storage.schema import logged_models

_PLAIN = ("id", "workspace", "experiment", "run", "host", "name", "created", "updated", "deleted")
_DETAILS = ("status", "type", "tags", "parameters", "metrics")


class LoggedModels:
    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, model: LoggedModel) -> None:
        with self._database.write() as connection:
            connection.execute(insert(logged_models), _row(model))

    def get(self, workspace: str, id: str, deleted: bool = False) -> LoggedModel:
        with self._database.read() as connection:
            return _read(connection, workspace, id, deleted)

    def list(self, workspace: str, experiments: Iterable[str]) -> builtins.list[LoggedModel]:
        """Return the models of these experiments that are not deleted, newest first."""
        c = logged_models.c
        query = select(logged_models).where(
            c.workspace == workspace, c.experiment.in_(list(experiments)), c.deleted.is_(None)
        )
        return [_model(row) for row in self._database.all(query.order_by(c.created.desc(), c.id))]

    def change(self, workspace: str, id: str, change: Callable[[LoggedModel], LoggedModel]) -> LoggedModel:
        """Replace a model by what `change` makes of it; nobody changes it meanwhile."""
        with self._database.write() as connection:
            after = change(_read(connection, workspace, id, deleted=False, lock=True))
            connection.execute(update(logged_models).where(logged_models.c.id == id).values(**_row(after)))
        return after


def _read(connection: Connection, workspace: str, id: str, deleted: bool, lock: bool = False) -> LoggedModel:
    c = logged_models.c
    query = select(logged_models).where(c.id == id, c.workspace == workspace)
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None or (row.deleted is not None and not deleted):
        raise NotFound(f"there is no logged model {id!r}", "see those of a run in its outputs")
    return _model(row)


def _row(model: LoggedModel) -> dict[str, Any]:
    fields = asdict(model)
    return {**{name: fields[name] for name in _PLAIN}, "details": {name: fields[name] for name in _DETAILS}}


def _model(row: Row[Any]) -> LoggedModel:
    fields: dict[str, Any] = {name: getattr(row, name) for name in _PLAIN}
    details: dict[str, Any] = {**row.details, "metrics": tuple(row.details["metrics"])}
    return LoggedModel(**fields, **details)
