"""Sessions of browsers: digests of what the browser sends, never the values themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import delete, func, insert, or_, select

from footplate.storage.database import Database
from footplate.storage.schema import sessions


class StoredSession(NamedTuple):
    digest: str
    secret: str
    created: float
    expires: float
    person: str | None = None
    credential: str | None = None


class Sessions:
    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, session: StoredSession) -> None:
        """Store a session, and forget those that expired before it was created."""
        with self._database.write() as connection:
            connection.execute(delete(sessions).where(sessions.c.expires < session.created))
            connection.execute(insert(sessions).values(**session._asdict()))

    def get(self, digest: str) -> StoredSession | None:
        with self._database.read() as connection:
            row = connection.execute(select(sessions).where(sessions.c.digest == digest)).one_or_none()
        return None if row is None else StoredSession(*row)

    def delete(self, digest: str) -> None:
        with self._database.write() as connection:
            connection.execute(delete(sessions).where(sessions.c.digest == digest))

    def delete_begun_with(self, credentials: Sequence[str | None]) -> None:
        """Delete the sessions that began with one of these credentials; None: before credentials were recorded."""
        column = sessions.c.credential
        named = column.in_([each for each in credentials if each is not None])
        with self._database.write() as connection:
            connection.execute(delete(sessions).where(or_(named, column.is_(None)) if None in credentials else named))

    def count(self, now: float) -> int:
        """Return how many sessions have not expired."""
        with self._database.read() as connection:
            return connection.execute(select(func.count()).where(sessions.c.expires >= now)).scalar_one()
