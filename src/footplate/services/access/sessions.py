"""Sessions of browsers, for the page of this server.

A session begins with a one-time code, which `footplate ui` prints as a link, or with the token of a team server. The
browser then sends two values with each request: a cookie, and a header that only the page knows. A cookie alone proves
nothing, because cookies ignore ports: a neighbour's program on the same machine receives it, too.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from dataclasses import dataclass, field

from footplate.errors import NotAllowed
from footplate.storage import Storage
from footplate.storage.sessions import StoredSession

CODE_SECONDS = 600.0
"""How long a one-time code can be used."""

SESSION_SECONDS = 30 * 86_400.0
_RECALL_SECONDS = 5.0
_MOST_RECALLED = 1024


@dataclass(frozen=True)
class NewSession:
    """What a browser needs to prove its session. The server keeps digests only."""

    cookie: str
    secret: str
    expires: float


@dataclass
class SessionService:
    store: Storage
    _codes: dict[str, float] = field(default_factory=dict[str, float])  # digest of a code → until when it is valid
    _recent: dict[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])
    _guard: threading.Lock = field(default_factory=threading.Lock)

    @property
    def cookie_name(self) -> str:
        """The name differs between homes, because a browser sends all cookies of a machine to each of its ports."""
        return f"footplate-{_digest(str(self.store.home))[:8]}"

    seconds = SESSION_SECONDS

    def invite(self) -> str:
        """Return a code that opens one session."""
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
        return self.begin()

    def begin(self) -> NewSession:
        """Begin a session; the caller has checked who asks for it."""
        session = NewSession(secrets.token_urlsafe(32), secrets.token_urlsafe(32), time.time() + SESSION_SECONDS)
        self.store.sessions.add(
            StoredSession(_digest(session.cookie), _digest(session.secret), time.time(), session.expires)
        )
        return session

    def recall(self, cookie: str, secret: str) -> bool:
        """Return whether this session was valid a moment ago, without any work."""
        return time.monotonic() < self._recent.get((cookie, secret), 0.0)

    def is_valid(self, cookie: str, secret: str) -> bool:
        stored = self.store.sessions.get(_digest(cookie))
        valid = (
            stored is not None and hmac.compare_digest(stored.secret, _digest(secret)) and time.time() < stored.expires
        )
        if valid:
            self._remember(cookie, secret)
        return valid

    def end(self, cookie: str) -> None:
        with self._guard:
            self._recent = {pair: until for pair, until in self._recent.items() if pair[0] != cookie}
        self.store.sessions.delete(_digest(cookie))

    def exist(self) -> bool:
        """Return whether any browser may still have a valid session."""
        return self.store.sessions.count(time.time()) > 0

    def _remember(self, cookie: str, secret: str) -> None:
        with self._guard:
            if len(self._recent) >= _MOST_RECALLED:
                self._recent.clear()
            self._recent[cookie, secret] = time.monotonic() + _RECALL_SECONDS


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()
