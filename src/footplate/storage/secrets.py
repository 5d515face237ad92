"""Secrets of a workspace, encrypted in the database (`encryption`)."""

from __future__ import annotations

import builtins
import time

from sqlalchemy import delete, select

from footplate.errors import NotFound
from footplate.storage.database import Database
from footplate.storage.encryption import Seal
from footplate.storage.schema import secrets


class Secrets:
    def __init__(self, database: Database, seal: Seal) -> None:
        self._database = database
        self._seal = seal

    def put(self, workspace: str, name: str, value: str) -> None:
        row = {"sealed": self._seal.close(value), "changed": time.time()}
        statement = self._database.insert(secrets).values(workspace=workspace, name=name, **row)
        with self._database.write() as connection:
            connection.execute(statement.on_conflict_do_update(index_elements=["workspace", "name"], set_=row))

    def get(self, workspace: str, name: str) -> str:
        c = secrets.c
        with self._database.read() as connection:
            sealed = connection.execute(select(c.sealed).where(c.workspace == workspace, c.name == name)).scalar()
        if sealed is None:
            raise _no_secret(name)
        return self._seal.open(f"secret {name!r}", sealed)

    def derive(self, purpose: str) -> str:
        """Derive a secret from the key, without storing it: for two machines that must agree on it."""
        return self._seal.derive(purpose)

    def list(self, workspace: str) -> builtins.list[str]:
        c = secrets.c
        with self._database.read() as connection:
            return builtins.list(
                connection.execute(select(c.name).where(c.workspace == workspace).order_by(c.name)).scalars()
            )

    def delete(self, workspace: str, name: str) -> None:
        c = secrets.c
        with self._database.write() as connection:
            if connection.execute(delete(secrets).where(c.workspace == workspace, c.name == name)).rowcount == 0:
                raise _no_secret(name)


def _no_secret(name: str) -> NotFound:
    return NotFound(f"there is no secret {name!r} in this workspace", "set it with Keyvault.set_secret")
