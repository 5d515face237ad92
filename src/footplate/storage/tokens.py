"""Tokens of a server on TCP: their hashes, scopes and expiry times."""

from __future__ import annotations

import time

from sqlalchemy import delete, select

from footplate.storage.database import Database
from footplate.storage.schema import tokens


class Tokens:
    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, hash: str, scope: str, expires: float) -> None:
        """Store a token. `scope` is "admin" or "run:<id>". Expired tokens are removed at the same time."""
        values = {"hash": hash, "scope": scope, "expires": expires}
        statement = self._database.insert(tokens).values(**values)
        with self._database.write() as connection:
            connection.execute(delete(tokens).where(tokens.c.expires < time.time()))
            connection.execute(statement.on_conflict_do_update(index_elements=["hash"], set_=values))

    def find(self, hash: str) -> str | None:
        """Return the scope of a token that has not expired."""
        where = (tokens.c.hash == hash, tokens.c.expires > time.time())
        with self._database.read() as connection:
            return connection.execute(select(tokens.c.scope).where(*where)).scalar()
