"""Bring a database to the tables that this program knows.

A new database is created in one step; an older one goes through Alembic's revisions. Either is one transaction under a
lock that dies with its holder: a process that is killed half-way leaves the database as it was. Alembic is loaded only
when there is something to migrate.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from footplate.disk import FileLock
from footplate.errors import Conflict
from footplate.storage.database import Database
from footplate.storage.database_errors import translated
from footplate.storage.schema import HEAD, metadata

FOLDER = Path(__file__).parent / "migrations"
_ADVISORY_LOCK = 0x666F6F74  # "foot"


def bring_up_to_date(database: Database, home: Path) -> None:
    """Create the tables, migrate them, or do nothing if they are current."""
    with database.read() as connection:
        if _is_at(connection, database, HEAD):
            return
        fresh = revision_of(connection) is None
    if fresh:
        with _alone(database, home) as connection:
            if revision_of(connection) is None:
                _make(connection)
    upgrade(database, home)


def upgrade(database: Database, home: Path, head: str = HEAD, versions: Path = FOLDER / "versions") -> None:
    """Apply the revisions up to `head`. Raise Conflict for a database that a newer program has created."""
    with _alone(database, home) as connection:
        if not _is_at(connection, database, head):
            _upgrade(connection, versions, head)


def revision_of(connection: Connection) -> str | None:
    """Return the revision of the database, None for a new one."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _is_at(connection: Connection, database: Database, head: str) -> bool:
    revision = revision_of(connection)
    if revision is None or revision == head:
        return revision == head
    if not revision.isdigit() or int(revision) > int(head):
        raise Conflict(
            f"{database.address} was made by a newer Footplate (revision {revision}, this one knows {head})",
            "upgrade: pip install --upgrade footplate",
        )
    return False


def _make(connection: Connection) -> None:
    metadata.create_all(connection)
    key = "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)"  # exactly as Alembic creates it
    connection.execute(text(f"CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, {key})"))
    connection.execute(text("INSERT INTO alembic_version (version_num) VALUES (:head)"), {"head": HEAD})


def _upgrade(connection: Connection, versions: Path, head: str) -> None:
    # Loaded only here: it would cost every start of the server a fifth of a second and ten megabytes.
    from alembic import command  # noqa: PLC0415  # see above
    from alembic.config import Config  # noqa: PLC0415  # see above

    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.set_main_option("version_locations", str(versions).replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    config.attributes["connection"] = connection
    command.upgrade(config, head)


@contextmanager
def _alone(database: Database, home: Path) -> Generator[Connection, None, None]:
    """Open one transaction while no other process of this home or database does the same. The locks end with it."""
    with translated(), FileLock(home / "migrate.lock") as lock:
        lock.take()
        with database.write() as connection:
            if not database.sqlite:
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
            yield connection
