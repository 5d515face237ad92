"""Secrets of a workspace, encrypted in the database (`encryption`)."""

from __future__ import annotations

import builtins
import time

from sqlalchemy import delete, select

from footplate.errors import NotFound
from footplate.storage.database import Database, named
from footplate.storage.encryption import Seal
from footplate.storage.schema import secrets


class Secrets:
    def __init__(self, database: Database, seal: Seal) -> None:
        self._database = database
        self._seal = seal

    def put(self, workspace: str, name: str, value: str) -> None:
        row = {"workspace": workspace, "name": name, "sealed": self._seal.close(value), "changed": time.time()}
        with self._database.write() as connection:
            self._database.put(connection, secrets, ("workspace", "name"), row)

    def get(self, workspace: str, name: str) -> str:
        row = self._database.one(select(secrets.c.sealed).where(*named(secrets, workspace, name)))
        if row is None:
            raise _no_secret(name)
        return self._seal.open(f"secret {name!r}", row.sealed)

    def derive(self, purpose: str) -> str:
        """Derive a secret from the key, without storing it: for two machines that must agree on it."""
        return self._seal.derive(purpose)

    def list(self, workspace: str) -> builtins.list[str]:
        c = secrets.c
        rows = self._database.all(select(c.name).where(c.workspace == workspace).order_by(c.name))
        return [row.name for row in rows]

    def delete(self, workspace: str, name: str) -> None:
        if not self._database.execute(delete(secrets).where(*named(secrets, workspace, name))):
            raise _no_secret(name)


def _no_secret(name: str) -> NotFound:
    return NotFound(f"there is no secret {name!r} in this workspace", "set it with Keyvault.set_secret")
