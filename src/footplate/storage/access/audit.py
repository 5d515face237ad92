"""The audit log. Entries are added and read; triggers of the database refuse to change them."""

from __future__ import annotations

import builtins
from collections.abc import Iterator

from sqlalchemy import ColumnElement, insert, select

from footplate.domain.access.people import AuditEntry, AuditQuery
from footplate.storage.database import Database
from footplate.storage.schema import audit

_FIELDS = tuple(AuditEntry.__dataclass_fields__)
_INSERT = insert(audit)
_SELECT = select(*(audit.c[name] for name in _FIELDS))
_REFUSED = 400


class AuditLog:
    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, entry: AuditEntry) -> None:
        """Store an entry; the database numbers it."""
        row = {name: getattr(entry, name) for name in _FIELDS if name != "number"}
        with self._database.write() as connection:
            connection.execute(_INSERT, row)

    def list(self, query: AuditQuery, limit: int, before: int | None) -> builtins.list[AuditEntry]:
        """Return matching entries, the newest first; `before`: only those with a smaller number."""
        conditions = list(_conditions(query))
        if before is not None:
            conditions.append(audit.c.number < before)
        statement = _SELECT.where(*conditions).order_by(audit.c.number.desc()).limit(limit)
        return [AuditEntry(*row) for row in self._database.all(statement)]


def _conditions(query: AuditQuery) -> Iterator[ColumnElement[bool]]:
    for name in ("who", "action", "workspace", "run"):
        value = getattr(query, name)
        if value is not None:
            yield audit.c[name] == value
    if query.since is not None:
        yield audit.c.time >= query.since
    if query.until is not None:
        yield audit.c.time < query.until
    if query.refused is not None:
        yield audit.c.status >= _REFUSED if query.refused else audit.c.status < _REFUSED
