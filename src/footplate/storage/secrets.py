"""Secrets of a workspace. The database holds them encrypted; the key is a file of the home folder, mode 0600.

Whoever has a copy of the database alone can read none of them. `cryptography` is loaded when the first one is used.
"""

from __future__ import annotations

import builtins
import contextlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import delete, select

from footplate.errors import Broken, NotFound
from footplate.storage.database import Database
from footplate.storage.faults import translated
from footplate.storage.schema import secrets

if TYPE_CHECKING:
    from cryptography.fernet import Fernet


class Secrets:
    def __init__(self, home: Path, database: Database) -> None:
        self._key = home / "secrets.key"
        self._database = database

    def put(self, workspace: str, name: str, value: str) -> None:
        row = {"sealed": self._cipher().encrypt(value.encode("utf-8", "surrogatepass")), "changed": time.time()}
        statement = self._database.insert(secrets).values(workspace=workspace, name=name, **row)
        with self._database.write() as connection:
            connection.execute(statement.on_conflict_do_update(index_elements=["workspace", "name"], set_=row))

    def get(self, workspace: str, name: str) -> str:
        c = secrets.c
        with self._database.read() as connection:
            sealed = connection.execute(select(c.sealed).where(c.workspace == workspace, c.name == name)).scalar()
        if sealed is None:
            raise _no_secret(name)
        return self._open(name, sealed)

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

    def _open(self, name: str, sealed: bytes) -> str:
        from cryptography.fernet import InvalidToken  # lazy: most servers keep no secrets

        try:
            return self._cipher().decrypt(sealed).decode("utf-8", "surrogatepass")
        except InvalidToken:
            raise Broken(
                f"secret {name!r} cannot be decrypted with {self._key}",
                "bring back the key file that was there when it was set, or set the secret again",
            ) from None

    def _cipher(self) -> Fernet:
        from cryptography.fernet import Fernet  # lazy, as above

        with translated():
            if not self._key.exists():
                self._make_key(Fernet.generate_key())
            return Fernet(self._key.read_bytes())

    def _make_key(self, key: bytes) -> None:
        """Whole or not at all, and never over a key that somebody else has just made."""
        aside = self._key.with_name(f"{self._key.name}.{os.getpid()}.{os.urandom(4).hex()}")
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(key)
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(aside, self._key)
        finally:
            os.unlink(aside)


def _no_secret(name: str) -> NotFound:
    return NotFound(f"there is no secret {name!r} in this workspace", "set it with Keyvault.set_secret")
