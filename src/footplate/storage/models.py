"""Registered models: versions that are never reused, tags, properties, aliases, and the run that each came from."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from footplate.domain.codec import from_json, to_json
from footplate.domain.records import FileView, ModelView
from footplate.errors import NotFound
from footplate.storage.database import Database, named, new_key
from footplate.storage.labels import MODEL_LABELS, PROPERTY, TAG
from footplate.storage.lineage import forget_samples, record_model, uses_of_models
from footplate.storage.registry import Versions
from footplate.storage.schema import model_versions, models

_PLAIN = ("workspace", "name", "created", "root", "description", "framework", "framework_version", "run", "experiment")
Pairs = Sequence[tuple[str, "str | None"]]


class Models:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._versions = Versions(database, model_versions)

    def add(self, key: str, view: ModelView, datasets: Sequence[tuple[str, str]] = ()) -> ModelView:
        """Register a model with the next version of the name. The same key again gives the same model.

        `datasets` are (purpose, id); those that its run has read are added.
        """
        with self._database.write() as connection:
            version = self._versions.take(connection, view.workspace, view.name)
            c = models.c
            # Looked up after taking the version: on PostgreSQL a concurrent retry of this request waits there.
            existing = connection.execute(
                select(models).where(c.workspace == view.workspace, c.request == key)
            ).one_or_none()
            if existing is not None:
                self._versions.give_back(connection, view.workspace, view.name)
                return _views(connection, [existing])[0]
            values = {name: getattr(view, name) for name in _PLAIN}
            values.update(files=to_json(view.files), resources=view.resources, options=view.options)
            values.update(version=version, request=key)
            owner = new_key(connection.execute(insert(models).values(**values)))
            MODEL_LABELS.change(connection, owner, view.tags, (), view.properties)
            record_model(self._database, connection, owner, view.run, datasets)
            behind = uses_of_models(connection, [owner])[owner]
        return replace(view, version=version, datasets=tuple(behind))

    def get(self, workspace: str, name: str, version: int | None = None) -> ModelView:
        """Return the given version, or the latest."""
        with self._database.read() as connection:
            return _views(connection, [_row(connection, workspace, name, version)])[0]

    def list(
        self,
        workspace: str,
        name: str | None = None,
        tags: Pairs = (),
        properties: Pairs = (),
        run: str | None = None,
        framework: str | None = None,
        latest: bool = False,
    ) -> builtins.list[ModelView]:
        """List models, newest first. `latest` keeps the highest version of each name, among those that match."""
        c = models.c
        conditions = [c.workspace == workspace]
        for column, value in ((c.name, name), (c.run, run), (c.framework, framework)):
            if value is not None:
                conditions.append(column == value)
        for kind, pairs in ((TAG, tags), (PROPERTY, properties)):
            conditions += [MODEL_LABELS.exists_for(c.key, kind, label, value) for label, value in pairs]
        query = select(models).where(*conditions)
        if latest:
            best = select(c.name, func.max(c.version).label("version")).where(*conditions).group_by(c.name).subquery()
            query = query.join(best, (c.name == best.c.name) & (c.version == best.c.version))
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(c.created.desc(), c.key.desc())).all()
            return _views(connection, rows)

    def change(
        self,
        workspace: str,
        name: str,
        version: int,
        description: str | None = None,
        tags: dict[str, str | None] | None = None,
        remove_tags: Sequence[str] = (),
        properties: dict[str, str] | None = None,
        datasets: Sequence[tuple[str, str]] = (),
        resources: dict[str, Any] | None = None,
        options: dict[str, Any] | None = None,
        aliases: Sequence[str] = (),
        remove_aliases: Sequence[str] = (),
    ) -> None:
        """Change fields; None leaves a field as it is, properties are written once, and options and datasets are added.

        A sample takes the place of the one before it. An alias names one version: another version loses it.
        """
        with self._database.write() as connection:
            if aliases:
                self._versions.lock(connection, workspace, name)
            row = _row(connection, workspace, name, version, lock=True)
            key = row.key
            merged_options = {**row.options, **options} if options is not None else None
            fields = {"description": description, "resources": resources, "options": merged_options}
            changes = {name: value for name, value in fields.items() if value is not None}
            if changes:
                connection.execute(update(models).where(models.c.key == key).values(**changes))
            forget_samples(connection, key, [purpose for purpose, _ in datasets])
            MODEL_LABELS.change(connection, key, tags, remove_tags, properties)
            if aliases or remove_aliases:
                c = models.c
                versions = select(c.key).where(*named(models, workspace, name)).scalar_subquery()
                MODEL_LABELS.move_aliases(connection, key, versions, aliases, remove_aliases)
            record_model(self._database, connection, key, None, datasets)

    def delete(self, workspace: str, name: str, version: int) -> None:
        with self._database.write() as connection:
            key = _row(connection, workspace, name, version, lock=True).key
            connection.execute(delete(models).where(models.c.key == key))


def _row(connection: Connection, workspace: str, name: str, version: int | None, lock: bool = False) -> Row[Any]:
    c = models.c
    query = select(models).where(*named(models, workspace, name)).order_by(c.version.desc()).limit(1)
    if version is not None:
        query = query.where(c.version == version)
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        which = f"version {version} of model" if version is not None else "model"
        raise NotFound(f"there is no {which} {name!r}", "see those that exist with: footplate models list")
    return row


def _views(connection: Connection, rows: Sequence[Row[Any]]) -> builtins.list[ModelView]:
    """Build views with three queries, however many models there are."""
    behind = uses_of_models(connection, [row.key for row in rows])
    labels = MODEL_LABELS.of(connection, [row.key for row in rows])
    return [
        ModelView(
            **{name: getattr(row, name) for name in _PLAIN}, version=row.version,
            files=tuple(from_json(FileView, file) for file in row.files), tags=labels[row.key].tags,
            properties=labels[row.key].properties, aliases=tuple(labels[row.key].aliases), resources=row.resources,
            options=row.options, datasets=tuple(behind[row.key]),
        )
        for row in rows
    ]  # fmt: skip
