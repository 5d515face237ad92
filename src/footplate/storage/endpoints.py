"""Web services: one record each, saved with compare-and-set, and their keys, encrypted."""

from __future__ import annotations

import builtins
import json
from dataclasses import replace
from typing import Any

from sqlalchemy import Row, delete, select, update

from footplate.domain.codec import from_json, to_json
from footplate.domain.serving.endpoints import EndpointRecord, ServiceKeys
from footplate.errors import Conflict, NotFound
from footplate.storage.database import Database
from footplate.storage.encryption import Seal
from footplate.storage.schema import endpoints


class Endpoints:
    def __init__(self, database: Database, seal: Seal) -> None:
        self._database = database
        self._seal = seal

    def create(self, record: EndpointRecord, keys: ServiceKeys) -> None:
        """Store a new service. A name or route that exists is a Conflict."""
        row = {"workspace": record.workspace, "name": record.name, "route": record.route, "revision": record.revision}
        with self._database.write() as connection:
            made = self._database.insert_new(
                connection, endpoints, record=to_json(record), sealed=self._seal.close(_text(keys)), **row
            )
        if not made:
            raise Conflict(
                f"there is a service {record.name!r} already",
                "choose another name, update it with service.update(…), or deploy with overwrite=True",
            )

    def save(self, record: EndpointRecord) -> EndpointRecord | None:
        """Store the record as the next revision, and return it; None if another one was stored in between."""
        c, after = endpoints.c, replace(record, revision=record.revision + 1)
        where = (c.workspace == record.workspace, c.name == record.name, c.revision == record.revision)
        statement = update(endpoints).where(*where).values(record=to_json(after), revision=after.revision)
        with self._database.write() as connection:
            return after if connection.execute(statement).rowcount else None

    def get(self, workspace: str, name: str) -> EndpointRecord:
        return _record(self._row(workspace, name))

    def list(self, workspace: str | None = None) -> builtins.list[EndpointRecord]:
        """Return the services of a workspace, or all of them, by name."""
        query = select(endpoints).order_by(endpoints.c.name, endpoints.c.workspace)
        if workspace is not None:
            query = query.where(endpoints.c.workspace == workspace)
        with self._database.read() as connection:
            return [_record(row) for row in connection.execute(query).all()]

    def delete(self, workspace: str, name: str) -> None:
        c = endpoints.c
        with self._database.write() as connection:
            connection.execute(delete(endpoints).where(c.workspace == workspace, c.name == name))

    def keys(self, workspace: str, name: str) -> ServiceKeys:
        sealed = self._row(workspace, name).sealed
        return ServiceKeys(**json.loads(self._seal.open(f"the keys of service {name!r}", sealed)))

    def set_keys(self, workspace: str, name: str, keys: ServiceKeys) -> None:
        c = endpoints.c
        statement = update(endpoints).where(c.workspace == workspace, c.name == name)
        with self._database.write() as connection:
            if connection.execute(statement.values(sealed=self._seal.close(_text(keys)))).rowcount == 0:
                raise _no_service(name)

    def _row(self, workspace: str, name: str) -> Row[Any]:
        c = endpoints.c
        with self._database.read() as connection:
            row = connection.execute(select(endpoints).where(c.workspace == workspace, c.name == name)).one_or_none()
        if row is None:
            raise _no_service(name)
        return row


def _record(row: Row[Any]) -> EndpointRecord:
    return from_json(EndpointRecord, row.record)


def _text(keys: ServiceKeys) -> str:
    return json.dumps(to_json(keys))


def _no_service(name: str) -> NotFound:
    return NotFound(f"there is no service {name!r} in this workspace", "list them with: footplate endpoints list")
