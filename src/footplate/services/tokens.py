"""Tokens: authorize requests over TCP. Only hashes are stored."""

from __future__ import annotations

import hashlib
import secrets
import time
from typing import Protocol


class TokenTable(Protocol):
    def put(self, hash: str, scope: str, expires: float) -> None: ...

    def find(self, hash: str) -> str | None:
        """Return the scope of a token that has not expired."""
        ...


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class TokenService:
    def __init__(self, table: TokenTable) -> None:
        self._table = table

    def scope_of(self, token: str) -> str | None:
        """Return `run:<id>` for a run's own token, None for one that is unknown or has expired."""
        return self._table.find(digest(token))

    def for_run(self, run: str, lifetime: float) -> tuple[str, float]:
        """Return a new token that reaches this run and no other, and its expiry."""
        token, expires = secrets.token_urlsafe(32), time.time() + lifetime
        self.admit(token, run, expires)
        return token, expires

    def admit(self, token: str, run: str, expires: float) -> None:
        """Make `token` valid for this run until `expires`; idempotent."""
        self._table.put(digest(token), f"run:{run}", expires)
