"""Datasets: definitions with an id, and named versions of them that are never reused."""

from __future__ import annotations

import builtins
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, func, select, update

from footplate.domain.datasets import DatasetView
from footplate.errors import Conflict, NotFound
from footplate.storage.database import Database, named
from footplate.storage.labels import DATASET_LABELS, TAG
from footplate.storage.registry import Versions
from footplate.storage.schema import dataset_versions, datasets

_PLAIN = (
    "id", "workspace", "name", "version", "kind", "definition", "listing", "files", "size", "description", "run",
    "created",
)  # fmt: skip
Pairs = Sequence[tuple[str, "str | None"]]


class DatasetTable:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._versions = Versions(database, dataset_versions)

    def add(self, request: str, view: DatasetView, new_version: bool = True) -> DatasetView:
        """Store a dataset, with the next version if it has a name. The same request again gives the same answer.

        A name that exists is a Conflict unless `new_version`. A definition and listing equal to the newest version
        are not registered again: that version gets the new tags and description.
        """
        with self._database.write() as connection:
            version = self._versions.take(connection, view.workspace, view.name) if view.name else None
            existing = self._find_same(connection, request, view, new_version)
            if existing is None:
                return self._insert(connection, request, replace(view, version=version))
            if view.name:
                self._versions.give_back(connection, view.workspace, view.name)
            return existing

    def _find_same(
        self, connection: Connection, request: str, view: DatasetView, new_version: bool
    ) -> DatasetView | None:
        """Return the dataset of this request. Called after `take`, where a concurrent retry waits on PostgreSQL."""
        c = datasets.c
        of_request = select(datasets).where(c.workspace == view.workspace, c.request == request)
        row = connection.execute(of_request).one_or_none()
        if row is not None:
            return views(connection, [row])[0]
        latest = _latest(connection, view.workspace, view.name) if view.name else None
        if latest is None:
            return None
        if not new_version:
            raise Conflict(
                f"there is a dataset {view.name!r} already, at version {latest.version}",
                "use create_new_version=True, or another name",
            )
        if (latest.kind, latest.definition, latest.listing) != (view.kind, view.definition, view.listing):
            return None
        _change(connection, latest.key, view.description, view.tags, ())
        return views(connection, [_row_of(connection, latest.id)])[0]

    def _insert(self, connection: Connection, request: str, view: DatasetView) -> DatasetView:
        values = {name: getattr(view, name) for name in _PLAIN}
        if self._database.insert_new(connection, datasets, **values, request=request):
            DATASET_LABELS.change(connection, _row_of(connection, view.id).key, view.tags, (), None)
            return view
        c = datasets.c  # a concurrent retry of this request, which has no name to wait at, was first
        row = connection.execute(select(datasets).where(c.workspace == view.workspace, c.request == request)).one()
        return views(connection, [row])[0]

    def by_id(self, id: str) -> DatasetView:
        with self._database.read() as connection:
            return views(connection, [_row_of(connection, id)])[0]

    def get(self, workspace: str, name: str, version: int | None = None) -> DatasetView:
        """Return the given version, or the latest."""
        with self._database.read() as connection:
            return views(connection, [_find(connection, workspace, name, version)])[0]

    def list(
        self, workspace: str, name: str | None = None, tags: Pairs = (), latest: bool = False
    ) -> builtins.list[DatasetView]:
        """List registered datasets, newest first. `latest` keeps the highest matching version of each name."""
        c = datasets.c
        conditions = [c.workspace == workspace, c.name.is_not(None), c.unregistered.is_(None)]
        if name is not None:
            conditions.append(c.name == name)
        conditions += [DATASET_LABELS.exists_for(c.key, TAG, label, value) for label, value in tags]
        query = select(datasets).where(*conditions)
        if latest:
            best = select(c.name, func.max(c.version).label("version")).where(*conditions).group_by(c.name).subquery()
            query = query.join(best, (c.name == best.c.name) & (c.version == best.c.version))
        with self._database.read() as connection:
            return views(connection, connection.execute(query.order_by(c.created.desc(), c.key.desc())).all())

    def change(
        self, id: str, description: str | None, tags: dict[str, str | None] | None, remove_tags: Sequence[str]
    ) -> DatasetView:
        """Change fields; None leaves a field as it is."""
        with self._database.write() as connection:
            key = _row_of(connection, id).key
            self._database.hold(connection, datasets.c.key, key)
            _change(connection, key, description, tags, remove_tags)
            return views(connection, [_row_of(connection, id)])[0]

    def unregister(self, workspace: str, name: str, version: int | None = None) -> int:
        """Take the name from one version or from all, and return their number.

        They stay for the runs and models that refer to them.
        """
        c = datasets.c
        where = [*named(datasets, workspace, name), c.unregistered.is_(None)]
        if version is not None:
            where.append(c.version == version)
        with self._database.write() as connection:
            count = connection.execute(update(datasets).where(*where).values(unregistered=time.time())).rowcount
        if not count:
            raise _no_dataset(name, version)
        return count


def _change(
    connection: Connection,
    key: int,
    description: str | None,
    tags: dict[str, str | None] | None,
    remove_tags: Sequence[str],
) -> None:
    if description is not None:
        connection.execute(update(datasets).where(datasets.c.key == key).values(description=description))
    DATASET_LABELS.change(connection, key, tags, remove_tags, None)


def _latest(connection: Connection, workspace: str, name: str | None) -> Row[Any] | None:
    c = datasets.c
    where = (*named(datasets, workspace, name), c.unregistered.is_(None))
    return connection.execute(select(datasets).where(*where).order_by(c.version.desc()).limit(1)).one_or_none()


def _find(connection: Connection, workspace: str, name: str, version: int | None) -> Row[Any]:
    c = datasets.c
    if version is None:
        row = _latest(connection, workspace, name)
    else:
        where = (*named(datasets, workspace, name), c.version == version, c.unregistered.is_(None))
        row = connection.execute(select(datasets).where(*where)).one_or_none()
    if row is None:
        raise _no_dataset(name, version)
    return row


def _row_of(connection: Connection, id: str) -> Row[Any]:
    row = connection.execute(select(datasets).where(datasets.c.id == id)).one_or_none()
    if row is None:
        raise NotFound(f"there is no dataset with the id {id[:100]!r}", "see those that exist: footplate data list")
    return row


def _no_dataset(name: str, version: int | None) -> NotFound:
    which = f"version {version} of dataset" if version is not None else "dataset"
    return NotFound(f"there is no {which} {name!r}", "see those that exist with: footplate data list")


def views(connection: Connection, rows: Sequence[Row[Any]]) -> builtins.list[DatasetView]:
    """Build views with two queries, however many datasets there are."""
    labels = DATASET_LABELS.of(connection, [row.key for row in rows])
    return [DatasetView(**{name: getattr(row, name) for name in _PLAIN}, tags=labels[row.key][0]) for row in rows]
