"""Compute targets, environments and web services by name, and locks, named by their content."""

from __future__ import annotations

import builtins
import json
from collections.abc import Sequence
from dataclasses import replace as replaced
from typing import Any

from sqlalchemy import Connection, Row, Table, delete, func, insert, select, update

from footplate.domain.codec import from_json, to_json
from footplate.domain.node_kinds import KnownKind
from footplate.domain.orders import Lock
from footplate.domain.records import ComputeView, EnvironmentView
from footplate.domain.serving.endpoints import EndpointRecord, ServiceKeys
from footplate.errors import Conflict, InvalidInput, NotFound
from footplate.storage.database import Database, named
from footplate.storage.schema import computes, endpoints, environment_labels, environments, locks
from footplate.storage.secrets import Seal


class Versions:
    def __init__(self, database: Database, table: Table) -> None:
        self._database = database
        self._table = table

    def take(self, connection: Connection, workspace: str, name: str) -> int:
        """Take the next version. On PostgreSQL a concurrent retry waits here until our transaction ends."""
        self._database.insert_new(connection, self._table, workspace=workspace, name=name, last=0)
        self._add(connection, workspace, name, 1)
        c = self._table.c
        return connection.execute(select(c.last).where(c.workspace == workspace, c.name == name)).scalar_one()

    def lock(self, connection: Connection, workspace: str, name: str) -> None:
        """Make other transactions that change the same name wait until this one ends."""
        c = self._table.c
        connection.execute(select(c.last).where(c.workspace == workspace, c.name == name).with_for_update())

    def give_back(self, connection: Connection, workspace: str, name: str) -> None:
        """Undo `take`, in the transaction that took it."""
        self._add(connection, workspace, name, -1)

    def _add(self, connection: Connection, workspace: str, name: str, more: int) -> None:
        c = self._table.c
        where = (c.workspace == workspace, c.name == name)
        connection.execute(update(self._table).where(*where).values(last=c.last + more))


_COMPUTE_COLUMNS = tuple(column.name for column in computes.c)
_LOCKS_REMEMBERED = 200
_COMPUTE_CHANGES = ("engine", "max_nodes", "min_nodes", "idle_seconds", "state", "options", "modified", "kinds")


class Computes:
    """Compute targets. `busy_nodes` and `waiting_runs` of a view are not stored: they are counted from the runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, view: ComputeView, replace: bool) -> None:
        """Store a target. One that exists is a Conflict unless it is to be replaced; its creation time stays."""
        row = {name: to_json(getattr(view, name)) for name in _COMPUTE_COLUMNS}
        with self._database.write() as connection:
            if replace:
                self._database.put(connection, computes, ("workspace", "name"), row)
            elif not self._database.insert_new(connection, computes, **row):
                raise Conflict(f"compute target {view.name!r} exists", "use it, change it, or choose another name")

    def get(self, workspace: str, name: str) -> ComputeView:
        row = self._database.one(select(computes).where(*named(computes, workspace, name)))
        if row is None:
            raise _no_compute(name)
        return _compute(row)

    def list(self, workspace: str) -> builtins.list[ComputeView]:
        rows = self._database.all(select(computes).where(computes.c.workspace == workspace))
        return sorted((_compute(row) for row in rows), key=lambda view: view.name)

    def change(self, workspace: str, name: str, **changes: Any) -> ComputeView:
        """Set some of: engine, max_nodes, min_nodes, idle_seconds, state, options, modified, kinds."""
        for field in changes:
            if field not in _COMPUTE_CHANGES:
                raise InvalidInput(f"{field!r} of a compute target cannot be changed", f"use {_COMPUTE_CHANGES}")
        statement = update(computes).where(*named(computes, workspace, name))
        if changes and not self._database.execute(statement.values(**to_json(changes))):
            raise _no_compute(name)
        return self.get(workspace, name)

    def delete(self, workspace: str, name: str) -> None:
        if not self._database.execute(delete(computes).where(*named(computes, workspace, name))):
            raise _no_compute(name)


def _compute(row: Row[Any]) -> ComputeView:
    fields: dict[str, Any] = {name: getattr(row, name) for name in _COMPUTE_COLUMNS}
    fields["kinds"] = tuple(from_json(KnownKind, each) for each in row.kinds or ())
    return ComputeView(**fields)


def _no_compute(name: str) -> NotFound:
    return NotFound(f"there is no compute target {name!r}", "see those that exist with: footplate compute list")


class Environments:
    """Environments with versions "1", "2", … for each name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def register(self, workspace: str, name: str, definition: dict[str, Any], now: float) -> EnvironmentView:
        """Register a new version, or return the latest one if its definition is the same."""
        query = select(environments).where(*named(environments, workspace, name))
        query = query.order_by(environments.c.version.desc()).limit(1)
        new = EnvironmentView(workspace, name, "1", now, definition)
        with self._database.write() as connection:
            latest = connection.execute(query.with_for_update()).one_or_none()
            if latest is not None:
                if latest.definition == definition:
                    return _environment(latest)
                new = replaced(new, version=str(latest.version + 1))
            connection.execute(insert(environments).values(**{**to_json(new), "version": int(new.version)}))
        return new

    def get(self, workspace: str, name: str, version: str | None = None) -> EnvironmentView:
        """Return the given version, or the latest."""
        c = environments.c
        query = select(environments).where(*named(environments, workspace, name))
        if version is not None:
            query = query.where(c.version == (int(version) if version.isascii() and version.isdigit() else -1))
        row = self._database.one(query.order_by(c.version.desc()).limit(1))
        if row is None:
            which = f"version {version!r} of environment" if version is not None else "environment"
            raise NotFound(f"there is no {which} {name!r}", "register it first, or look at Environment.list(workspace)")
        return _environment(row)

    def set_labels(self, workspace: str, name: str, version: str, labels: Sequence[str]) -> EnvironmentView:
        """Make the labels refer to this version, and to no other."""
        view = self.get(workspace, name, version)
        with self._database.write() as connection:
            for label in labels:
                row = {"workspace": workspace, "name": name, "label": label, "version": int(view.version)}
                self._database.put(connection, environment_labels, ("workspace", "name", "label"), row)
        return view

    def get_by_label(self, workspace: str, name: str, label: str) -> EnvironmentView:
        """Return the version that the label refers to."""
        c = environment_labels.c
        query = select(c.version).where(*named(environment_labels, workspace, name), c.label == label)
        row = self._database.one(query)
        if row is None:
            raise NotFound(
                f"there is no version of environment {name!r} with the label {label!r}",
                "label one with Environment.label(workspace, name, version, labels)",
            )
        return self.get(workspace, name, str(row.version))

    def list(self, workspace: str) -> builtins.list[EnvironmentView]:
        """List the latest version of each environment, by name."""
        c = environments.c
        latest = (
            select(c.name, func.max(c.version).label("version"))
            .where(c.workspace == workspace)
            .group_by(c.name)
            .subquery()
        )
        query = select(environments).join(latest, (c.name == latest.c.name) & (c.version == latest.c.version))
        rows = self._database.all(query.where(c.workspace == workspace))
        return sorted((_environment(row) for row in rows), key=lambda view: view.name)


def _environment(row: Row[Any]) -> EnvironmentView:
    return EnvironmentView(row.workspace, row.name, str(row.version), row.created, row.definition)


class Locks:
    """Locks. They never change and are never deleted, so those in use are remembered."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, Lock] = {}

    def put(self, lock: Lock) -> None:
        """Store a lock. Its digest is that of the content, so an existing one is equal."""
        if lock.digest in self._known:
            return
        with self._database.write() as connection:
            self._database.insert_new(connection, locks, **to_json(lock))

    def get(self, digest: str) -> Lock:
        if (lock := self._known.get(digest)) is not None:
            return lock
        row = self._database.one(select(locks).where(locks.c.digest == digest))
        if row is None:
            raise NotFound(f"there is no environment lock {digest!r}", "submit the run again: that makes one")
        if len(self._known) >= _LOCKS_REMEMBERED:
            self._known.clear()
        lock = self._known[digest] = Lock(row.digest, row.builder, row.content, tuple(row.warnings))
        return lock


class Endpoints:
    """Web services: one record each, saved with compare-and-set, and their keys, encrypted."""

    def __init__(self, database: Database, seal: Seal) -> None:
        self._database = database
        self._seal = seal

    def create(self, record: EndpointRecord, keys: ServiceKeys) -> None:
        """Store a new service. A name or route that exists is a Conflict."""
        row = {"workspace": record.workspace, "name": record.name, "route": record.route, "revision": record.revision}
        with self._database.write() as connection:
            is_new = self._database.insert_new(
                connection, endpoints, record=to_json(record), sealed=self._seal.close(_text(keys)), **row
            )
        if not is_new:
            raise Conflict(
                f"there is a service {record.name!r} already",
                "choose another name, update it with service.update(…), or deploy with overwrite=True",
            )

    def save(self, record: EndpointRecord) -> EndpointRecord | None:
        """Store the record as the next revision, and return it; None if another one was stored in between."""
        after = replaced(record, revision=record.revision + 1)
        where = (*named(endpoints, record.workspace, record.name), endpoints.c.revision == record.revision)
        statement = update(endpoints).where(*where).values(record=to_json(after), revision=after.revision)
        return after if self._database.execute(statement) else None

    def get(self, workspace: str, name: str) -> EndpointRecord:
        return _endpoint(self._row(workspace, name))

    def list(self, workspace: str | None = None) -> builtins.list[EndpointRecord]:
        """Return the services of a workspace, or all of them, by name."""
        query = select(endpoints).order_by(endpoints.c.name, endpoints.c.workspace)
        if workspace is not None:
            query = query.where(endpoints.c.workspace == workspace)
        return [_endpoint(row) for row in self._database.all(query)]

    def delete(self, workspace: str, name: str) -> None:
        self._database.execute(delete(endpoints).where(*named(endpoints, workspace, name)))

    def keys(self, workspace: str, name: str) -> ServiceKeys:
        sealed = self._row(workspace, name).sealed
        return ServiceKeys(**json.loads(self._seal.open(f"the keys of service {name!r}", sealed)))

    def set_keys(self, workspace: str, name: str, keys: ServiceKeys) -> None:
        statement = update(endpoints).where(*named(endpoints, workspace, name))
        if not self._database.execute(statement.values(sealed=self._seal.close(_text(keys)))):
            raise _no_service(name)

    def _row(self, workspace: str, name: str) -> Row[Any]:
        row = self._database.one(select(endpoints).where(*named(endpoints, workspace, name)))
        if row is None:
            raise _no_service(name)
        return row


def _endpoint(row: Row[Any]) -> EndpointRecord:
    return from_json(EndpointRecord, row.record)


def _text(keys: ServiceKeys) -> str:
    return json.dumps(to_json(keys))


def _no_service(name: str) -> NotFound:
    return NotFound(f"there is no service {name!r} in this workspace", "list them with: footplate endpoints list")
