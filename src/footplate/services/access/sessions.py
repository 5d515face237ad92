"""Sessions of browsers, for the page of this server.

A session begins with a one-time code, which `footplate ui` prints as a link, or with a token on a team server. The
browser then sends two values with each request: a cookie, and a header that only the page knows. A cookie alone proves
nothing, because cookies ignore ports: a neighbour's program on the same machine receives it, too.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from dataclasses import dataclass

from footplate.errors import NotAllowed
from footplate.services.access.identities import AccessCache, Identity, SessionHolder
from footplate.services.access.people import PeopleService
from footplate.services.access.person_tokens import PersonTokenService
from footplate.storage import Storage
from footplate.storage.access.sessions import StoredSession

CODE_SECONDS = 600.0
"""How long a one-time code can be used."""

SESSION_SECONDS = 30 * 86_400.0

LINK = "link"
"""The credential of a session that began with a one-time link."""

PROVIDER = "provider"
"""The credential of a session that began at the sign-in provider."""


@dataclass(frozen=True)
class NewSession:
    """What a browser needs to prove its session. The server keeps digests only."""

    cookie: str
    secret: str
    expires: float


class SessionService:
    def __init__(self, store: Storage, people: PeopleService, tokens: PersonTokenService, cache: AccessCache) -> None:
        self.store = store
        self._people = people
        self._tokens = tokens
        self._cache = cache
        self._codes: dict[str, float] = {}  # digest of a code → until when it is valid
        self._guard = threading.Lock()

    @property
    def cookie_name(self) -> str:
        """The name differs between homes, because a browser sends all cookies of a machine to each of its ports."""
        return f"footplate-{_digest(str(self.store.home))[:8]}"

    def invite(self) -> str:
        """Return a code that opens one session of the owner."""
        code = secrets.token_urlsafe(32)
        now = time.monotonic()
        with self._guard:
            self._codes = {digest: until for digest, until in self._codes.items() if until > now}
            self._codes[_digest(code)] = now + CODE_SECONDS
        return code

    def redeem(self, code: str) -> NewSession:
        with self._guard:
            until = self._codes.pop(_digest(code), 0.0)
        if time.monotonic() > until:
            raise NotAllowed(
                "this link was used before, or has expired", "print a new one in a terminal with: footplate ui"
            )
        return self.begin(None, LINK)

    def begin(self, identity: Identity | None, credential: str) -> NewSession:
        """Begin a session of a person, or of the owner for None; the caller has checked who asks for it.

        The session of a token has the limits of the token, and ends with it.
        """
        now = time.time()
        token = identity.token if identity else None
        expires = min(now + SESSION_SECONDS, token.expires if token and token.expires else float("inf"))
        session = NewSession(secrets.token_urlsafe(32), secrets.token_urlsafe(32), expires)
        stored = StoredSession(
            _digest(session.cookie), _digest(session.secret), now, expires, identity.name if identity else None,
            token.id if token else credential,
        )  # fmt: skip
        self.store.sessions.add(stored)
        return session

    def recall(self, cookie: str, secret: str) -> SessionHolder | None:
        """Return the holder of a session that was valid a moment ago, without any work."""
        return self._cache.sessions.get((cookie, secret))

    def holder_of(self, cookie: str, secret: str) -> SessionHolder | None:
        """Return the holder of a session; None if it is not valid, or not any more."""
        mark = self._cache.sessions.mark
        stored = self.store.sessions.get(_digest(cookie))
        if stored is None or not hmac.compare_digest(stored.secret, _digest(secret)) or time.time() >= stored.expires:
            return None
        holder = self._holder(stored)
        if holder is not None:
            self._cache.sessions.put((cookie, secret), holder, mark)
        return holder

    def _holder(self, stored: StoredSession) -> SessionHolder | None:
        if stored.person is None:
            return SessionHolder(None, stored.credential)
        if stored.credential is not None and stored.credential != PROVIDER:
            identity = self._tokens.holder_of_id(stored.credential)
            return identity and SessionHolder(identity, stored.credential)
        person = self._people.get(stored.person)
        if person.disabled is not None:
            return None
        return SessionHolder(self._people.identity(person, credential=PROVIDER), PROVIDER)

    def end(self, cookie: str) -> None:
        self.store.sessions.delete(_digest(cookie))
        self._cache.sessions.forget()

    def exist(self) -> bool:
        """Return whether any browser may still have a valid session."""
        return self.store.sessions.count(time.time()) > 0


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()
