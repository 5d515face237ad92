"""Translate errors of the database drivers, SQLAlchemy and the operating system into ours, here and nowhere else.

disk full, quota reached        OutOfSpace     nothing was changed
locked, unreachable, restarting Unavailable    the same call may work later
damaged file, failing disk      Broken
unique key exists, folder ⇄ file Conflict
text or number that no database accepts  InvalidInput
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy import exc

from footplate.errors import Broken, Conflict, FootplateError, InvalidInput, OutOfSpace, Unavailable

Kind = type[FootplateError]

_FREE_SPACE = "free some space on the disk of the server's home folder, then repeat the call"
_LATER = "repeat the call; if it goes on, look at: footplate server logs"
_REPAIR = "check the disk and the file's permissions; if it is damaged, restore the home folder from a backup"
_SMALLER = "make the name or value shorter, and leave out NUL and unpaired surrogates"

# SQLite has numbers for these, but Python exposes them only from 3.11 on; the texts have not changed in fifteen years.
_SQLITE: tuple[tuple[str, Kind, str], ...] = (
    ("database or disk is full", OutOfSpace, _FREE_SPACE),
    ("database is locked", Unavailable, "end the other program that has the database open, then repeat the call"),
    ("table is locked", Unavailable, _LATER),
    ("disk i/o error", Broken, _REPAIR),
    ("unable to open database file", Broken, _REPAIR),
    ("readonly database", Broken, _REPAIR),
    ("malformed", Broken, _REPAIR),
    ("file is not a database", Broken, _REPAIR),
    ("too big", InvalidInput, _SMALLER),
)
# The longest matching prefix of the SQLSTATE decides.
_POSTGRES: dict[str, tuple[Kind, str]] = {
    "53100": (OutOfSpace, "free some space on the disk of the PostgreSQL server, then repeat the call"),
    "08": (Unavailable, "see that the PostgreSQL server runs and can be reached"),
    "28": (Unavailable, "check the user and password in the database address"),
    "3D": (Unavailable, "create the database with createdb, or correct its name"),
    "40": (Unavailable, _LATER),
    "53": (Unavailable, _LATER),
    "55": (Unavailable, _LATER),
    "57": (Unavailable, _LATER),
    "22": (InvalidInput, _SMALLER),
    "54": (InvalidInput, _SMALLER),
    "23": (Conflict, "something else took this name first; look at what is there"),
}
_OS: dict[int, tuple[Kind, str]] = {
    errno.ENOSPC: (OutOfSpace, _FREE_SPACE),
    errno.EDQUOT: (OutOfSpace, _FREE_SPACE),
    errno.EFBIG: (OutOfSpace, _FREE_SPACE),
    errno.ENOTDIR: (Conflict, "a file of that name is where a folder is needed; use another name"),
    errno.EISDIR: (Conflict, "a folder has that name already; use another one"),
    errno.ENAMETOOLONG: (InvalidInput, "use a shorter name"),
    errno.EMFILE: (Unavailable, "raise the limit on open files (ulimit -n), or repeat the call later"),
    errno.ENFILE: (Unavailable, _LATER),
    errno.ENOMEM: (Unavailable, _LATER),
}


def translate(error: Exception) -> FootplateError:
    """Return our error for `error`."""
    if isinstance(error, FootplateError):
        return error
    if isinstance(error, OSError):
        kind, hint = _OS.get(error.errno or 0, (Broken, _REPAIR))
        return kind(f"{error.filename or 'a file of the store'}: {error.strerror or error}", hint)
    if isinstance(error, exc.TimeoutError):
        return Unavailable("all connections to the database are in use", _LATER)
    if isinstance(error, sqlite3.Error):
        return _driver_error(error)
    if isinstance(error, exc.StatementError) and error.orig is not None:
        return _driver_error(error.orig)
    if isinstance(error, (UnicodeEncodeError, OverflowError)):
        return InvalidInput(f"the database cannot store this value: {error}", _SMALLER)
    return Broken(f"the store failed: {type(error).__name__}: {error}", _LATER)


def _driver_error(error: BaseException) -> FootplateError:
    if isinstance(error, FootplateError):
        return error
    if isinstance(error, (UnicodeEncodeError, OverflowError)):
        return InvalidInput(f"the database cannot store this value: {error}", _SMALLER)
    text = str(error).strip() or type(error).__name__
    if isinstance(error, sqlite3.IntegrityError):
        return Conflict(f"the database refused it: {text}", "look at what is there already")
    if isinstance(error, sqlite3.Error):
        for sign, kind, hint in _SQLITE:
            if sign in text.lower():
                return kind(f"the database reported: {text}", hint)
        return Broken(f"the database reported: {text}", _LATER)
    return _postgres_error(error, text)


def _postgres_error(error: BaseException, text: str) -> FootplateError:
    state: str | None = getattr(error, "sqlstate", None)
    if state is None:
        # The driver reports no state when it never reached the server, lost it, or refused a value itself.
        if type(error).__name__ == "DataError":
            return InvalidInput(f"the database cannot store this value: {text}", _SMALLER)
        return Unavailable(f"the database cannot be reached: {text}", _POSTGRES["08"][1])
    for length in (5, 2):
        if state[:length] in _POSTGRES:
            kind, hint = _POSTGRES[state[:length]]
            return kind(f"the database reported: {text}", hint)
    return Broken(f"the database reported ({state}): {text}", _LATER)


@contextmanager
def translated() -> Generator[None, None, None]:
    """Raise every error inside the block as one of ours."""
    try:
        yield
    except FootplateError:
        raise
    except (exc.SQLAlchemyError, sqlite3.Error, OSError, UnicodeEncodeError, OverflowError) as error:
        raise translate(error) from error
