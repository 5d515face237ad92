"""The switch of the server's own token, the emergency key of its owner."""

from __future__ import annotations

from footplate.domain.access.people import ServerKeyView
from footplate.services.access.identities import AccessCache
from footplate.storage import Storage

SERVER_KEY = "server-key"
"""The credential of sessions that began with the server's own token."""

_STATE = "server_key"


class ServerKey:
    def __init__(self, store: Storage, cache: AccessCache) -> None:
        self._store = store
        self._cache = cache

    def recall(self) -> bool | None:
        """Return whether the key was accepted a moment ago, without any work; None if that is not known."""
        return self._cache.switches.get(_STATE)

    def is_accepted(self) -> bool:
        mark = self._cache.switches.mark
        accepted = bool(self._store.server_state.get(_STATE, True))
        self._cache.switches.put(_STATE, accepted, mark)
        return accepted

    def switch(self, accepted: bool) -> ServerKeyView:
        """Accept the server's own token, or refuse it and end the sessions that began with it."""
        self._store.server_state.put(_STATE, accepted)
        if not accepted:
            self._store.sessions.delete_begun_with([SERVER_KEY, None])
        self._cache.forget()
        return ServerKeyView(accepted)
