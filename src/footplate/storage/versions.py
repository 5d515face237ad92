"""Version numbers that count up for each name and are never reused."""

from __future__ import annotations

from sqlalchemy import Connection, Table, select, update

from footplate.storage.database import Database


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
