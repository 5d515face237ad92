"""Tokens of people and service accounts.

A token is random and shown once; the database holds its digest. It may be limited to a workspace or to reading, and
may end.
"""

from __future__ import annotations

import hashlib
import secrets
import time

from footplate.domain.access.people import NewToken, TokenView
from footplate.errors import Conflict, InvalidInput, NotAllowed, NotFound
from footplate.services.access.identities import AccessCache, Identity
from footplate.services.access.people import PeopleService
from footplate.storage import Storage
from footplate.storage.access.access_tokens import HeldToken

PREFIX = "fpt_"
"""The beginning of every token, by which people and scanners recognize one that has leaked."""

_LONGEST_LABEL = 200
_USE_SECONDS = 300.0
"""How precise the time of the last use is."""


class PersonTokenService:
    def __init__(self, store: Storage, people: PeopleService, cache: AccessCache) -> None:
        self._store = store
        self._people = people
        self._cache = cache

    # ── Manage ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def create(
        self,
        person: str,
        label: str,
        expires: float | None = None,
        workspace: str | None = None,
        read_only: bool = False,
        creator: Identity | None = None,
    ) -> NewToken:
        """Create a token. `creator` is the person whose token or session asks for it; None is the server's owner."""
        now = time.time()
        if len(label) > _LONGEST_LABEL:
            raise InvalidInput(f"the label has {len(label)} characters", f"use at most {_LONGEST_LABEL}")
        if expires is not None and not now < expires < float("inf"):
            raise InvalidInput("the token would end before it begins", "give an end in the future")
        if creator is not None:
            expires = _limit_to_creator(person, expires, creator)
        if self._people.get(person).disabled is not None:
            raise Conflict(f"{person!r} is disabled", f"enable it with: footplate people enable {person}")
        if workspace is not None:
            self._store.workspaces.get(workspace)
        token = PREFIX + secrets.token_urlsafe(32)
        digest = _digest(token)
        view = TokenView(digest[:12], person, label, now, expires, workspace, read_only)
        self._store.access_tokens.add(view, digest)
        return NewToken(view, token)

    def list(self, person: str | None) -> list[TokenView]:
        return self._store.access_tokens.list(person)

    def get(self, id: str) -> TokenView:
        stored = self._store.access_tokens.get(id)
        if stored is None:
            raise NotFound(f"there is no token {id!r}", "list tokens with: footplate tokens list")
        return stored.token

    def revoke(self, id: str) -> None:
        """Delete a token, and end the sessions that began with it."""
        if not self._store.access_tokens.delete(id):
            raise NotFound(f"there is no token {id!r}", "list tokens with: footplate tokens list")
        self._store.sessions.delete_begun_with([id])
        self._cache.forget()

    # ── Verify ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def recall(self, token: str) -> Identity | None:
        """Return the holder of a token that was verified a moment ago, without any work."""
        return self._cache.identities.get(token)

    def holder_of(self, token: str) -> Identity | None:
        """Return the holder of a token; None if it is not valid, or not any more."""
        if not token.startswith(PREFIX):
            return None
        mark = self._cache.identities.mark
        identity = self._identity(self._store.access_tokens.find(_digest(token)))
        if identity is not None:
            self._cache.identities.put(token, identity, mark)
        return identity

    def holder_of_id(self, id: str) -> Identity | None:
        """Return the holder of the token with which a session began."""
        return self._identity(self._store.access_tokens.get(id))

    def link_key(self, id: str) -> str:
        """Return the key with which the holder of a token signs links to files. It follows from the key of the home."""
        return self._store.secrets.derive(f"links:{id}")

    def _identity(self, held: HeldToken | None) -> Identity | None:
        now = time.time()
        if held is None or held.person.disabled is not None:
            return None
        if held.token.expires is not None and held.token.expires <= now:
            return None
        if held.token.last_used is None or now - held.token.last_used > _USE_SECONDS:
            self._store.access_tokens.note_use(held.token.id, now)
        return self._people.identity(held.person, held.token)


def _limit_to_creator(person: str, expires: float | None, creator: Identity) -> float | None:
    """Return when the new token ends: no later than the one that creates it."""
    if creator.is_limited:
        raise NotAllowed(
            "a token that is limited to a workspace or to reading creates no tokens",
            "sign in, or use a token without limits",
        )
    if person != creator.name and not creator.owns_server:
        raise NotAllowed(f"{creator.name} may not create tokens of {person!r}", "ask an owner of the server")
    until = creator.token.expires if creator.token else None
    if until is None:
        return expires
    return until if expires is None else min(expires, until)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
