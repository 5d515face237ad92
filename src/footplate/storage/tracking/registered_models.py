"""Names of models with a description and tags of their own. The versions are in `storage.models`.

A model that was registered with a version has no row until somebody describes it.
"""

from __future__ import annotations

import builtins
from dataclasses import asdict

from sqlalchemy import delete, func, select, update

from footplate.domain.runs.tracking import RegisteredModel
from footplate.errors import Conflict, NotFound
from footplate.storage.database import Database, named
from footplate.storage.schema import model_versions, models, registered_models

_VERSIONED = select(
    models.c.workspace, models.c.name, func.min(models.c.created).label("created"),
    func.max(models.c.created).label("updated"),
).group_by(models.c.workspace, models.c.name)  # fmt: skip


class RegisteredModels:
    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, model: RegisteredModel) -> None:
        """Register a name. One that exists, with or without versions, is a Conflict."""
        with self._database.write() as connection:
            versioned = select(models.c.key).where(*named(models, model.workspace, model.name)).limit(1)
            is_taken = connection.execute(versioned).first() is not None
            if is_taken or not self._database.insert_new(connection, registered_models, **asdict(model)):
                raise Conflict(f"model {model.name!r} exists", "choose another name, or add a version")

    def list(self, workspace: str, name: str | None = None) -> builtins.list[RegisteredModel]:
        """Return all names, or one, in order."""
        versioned = _VERSIONED.where(models.c.workspace == workspace)
        described = select(registered_models).where(registered_models.c.workspace == workspace)
        if name is not None:
            versioned = versioned.where(models.c.name == name)
            described = described.where(registered_models.c.name == name)
        with self._database.read() as connection:
            rows = [*connection.execute(versioned).mappings(), *connection.execute(described).mappings()]
        by_name = {str(row["name"]): RegisteredModel(**row) for row in rows}
        return [by_name[each] for each in sorted(by_name)]

    def get(self, workspace: str, name: str) -> RegisteredModel:
        by_name = self.list(workspace, name)
        if not by_name:
            raise NotFound(f"there is no model {name!r}", "see those that exist with: footplate models list")
        return by_name[0]

    def put(self, model: RegisteredModel) -> None:
        """Store the description and tags of a model that exists."""
        with self._database.write() as connection:
            self._database.put(connection, registered_models, ("workspace", "name"), asdict(model))

    def rename(self, model: RegisteredModel, name: str) -> None:
        """Give a model and all its versions another name. One that exists is a Conflict."""
        with self._database.write() as connection:
            for table in (registered_models, models):
                if connection.execute(select(table.c.name).where(*named(table, model.workspace, name))).first():
                    raise Conflict(f"model {name!r} exists", "choose another name")
            connection.execute(delete(model_versions).where(*named(model_versions, model.workspace, name)))
            for table in (registered_models, models, model_versions):
                here = named(table, model.workspace, model.name)
                connection.execute(update(table).where(*here).values(name=name))

    def delete(self, workspace: str, name: str) -> None:
        """Delete a model with all its versions."""
        with self._database.write() as connection:
            for table in (registered_models, models):
                connection.execute(delete(table).where(*named(table, workspace, name)))
