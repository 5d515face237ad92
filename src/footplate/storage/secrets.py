"""Everything that is kept encrypted: secrets of workspaces in the database, and credentials of package indexes by URL.

The key is a file of the home directory, mode 0600, so a copy of the database alone does not reveal them. PyNaCl is
loaded when something is first encrypted. The credentials of channels and indexes are one file, which most homes lack.
"""

from __future__ import annotations

import base64
import builtins
import contextlib
import hashlib
import hmac
import json
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import delete, select

from footplate.disk import atomic_file, atomic_write, write_all
from footplate.errors import Broken, NotFound
from footplate.storage.database import Database, named
from footplate.storage.database_errors import translated
from footplate.storage.schema import secrets

if TYPE_CHECKING:
    from nacl.secret import SecretBox


class Seal:
    """Encrypts and decrypts texts. Any thread and any number of processes may use it."""

    def __init__(self, home: Path) -> None:
        self._key = home / "secrets.key"

    def close(self, text: str) -> bytes:
        return bytes(self._cipher().encrypt(text.encode("utf-8", "surrogatepass")))

    def open(self, what: str, sealed: bytes) -> str:
        """Decrypt; `what` names the value in an error."""
        from nacl.exceptions import CryptoError  # noqa: PLC0415  # lazy: most servers keep no secrets

        try:
            return self._cipher().decrypt(sealed).decode("utf-8", "surrogatepass")
        except (CryptoError, ValueError):  # ValueError: too short to be encrypted data
            raise Broken(
                f"{what} cannot be decrypted with {self._key}",
                "bring back the key file that was there when it was set, or set it again",
            ) from None

    def derive(self, purpose: str) -> str:
        """Derive a secret for a purpose from the key file, without revealing the key."""
        return hmac.new(self._key_bytes(), purpose.encode(), hashlib.sha256).hexdigest()

    def _cipher(self) -> SecretBox:
        from nacl.secret import SecretBox  # noqa: PLC0415  # lazy, as above

        try:
            return SecretBox(base64.urlsafe_b64decode(self._key_bytes()))
        except ValueError:
            raise Broken(f"{self._key} holds no key", "bring back the file that was there before") from None

    def _key_bytes(self) -> bytes:
        with translated():
            if not self._key.exists():
                self._make_key(base64.urlsafe_b64encode(os.urandom(32)))
            return self._key.read_bytes()

    def _make_key(self, key: bytes) -> None:
        """Write the key file, whole or not at all, and never over a key that another process has just created."""
        with contextlib.suppress(FileExistsError):
            with atomic_file(self._key, durable=True, mode=0o600, overwrite=False) as out:
                write_all(out, key)


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


class LoginFile:
    """The file of credentials. The last one given for a URL is kept. Used by any thread of one process, the server."""

    def __init__(self, home: Path, seal: Seal) -> None:
        self._path = home / "logins.sealed"
        self._seal = seal
        self._guard = threading.Lock()

    def all(self) -> dict[str, str]:
        with translated():
            try:
                sealed = self._path.read_bytes()
            except FileNotFoundError:
                return {}
        return json.loads(self._seal.open(str(self._path), sealed))

    def put(self, logins: Mapping[str, str]) -> None:
        if not logins:
            return
        with self._guard:
            stored = self.all()
            if stored != (merged := {**stored, **logins}):
                with translated():
                    atomic_write(self._path, self._seal.close(json.dumps(merged)), durable=True, mode=0o600)
