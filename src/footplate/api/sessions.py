"""Sessions of browsers, and the page that they open."""

from __future__ import annotations

from typing import Optional

from footplate.api.base import ApiNoun
from footplate.domain.replies import PageLink, SessionView


class SessionsApi(ApiNoun):
    def open_page(self) -> PageLink:
        """Open the page of the server, and return its address with a code for one session."""
        return self._post(PageLink, "/server/page")

    def begin(self, code: Optional[str] = None) -> SessionView:
        """Begin a session with a one-time code, or as the owner. The cookie is in a header of the response."""
        return self._post(SessionView, "/session", {"code": code})

    def end(self) -> None:
        """End the session whose cookie the transport sends."""
        self._send("DELETE", "/session")
