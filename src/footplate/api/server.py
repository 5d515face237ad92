"""The server itself, and the log of what people did."""

from __future__ import annotations

from typing import Iterator, Optional

from footplate.api.base import ApiNoun
from footplate.domain.access.people import AuditEntry, ServerKeyView
from footplate.domain.replies import ServerInfo, ServerStopping


class ServerApi(ApiNoun):
    def get(self, timeout: Optional[float] = None) -> ServerInfo:
        return self._get(ServerInfo, "/server", timeout=timeout)

    def switch_key(self, accepted: bool) -> ServerKeyView:
        """Accept the server's own token, or refuse it and end its sessions."""
        return self._put(ServerKeyView, "/server/key", {"accepted": accepted})

    def stop(self, timeout: Optional[float] = None) -> ServerStopping:
        """Stop the server; active runs continue."""
        return self._post(ServerStopping, "/server/stop", timeout=timeout)

    def audit(
        self,
        who: Optional[str] = None,
        action: Optional[str] = None,
        workspace: Optional[str] = None,
        run: Optional[str] = None,
        since: Optional[float] = None,
        until: Optional[float] = None,
        refused: Optional[bool] = None,
        limit: int = 1000,
    ) -> Iterator[AuditEntry]:
        """Yield matching entries, the newest first; `limit` is the size of a page."""
        query = {
            "who": who, "action": action, "workspace": workspace, "run": run, "since": since, "until": until,
            "refused": refused, "limit": limit,
        }  # fmt: skip
        return self._items(AuditEntry, "/audit", query)
