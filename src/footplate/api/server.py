"""The server itself."""

from __future__ import annotations

from typing import Optional

from footplate.api.base import ApiNoun
from footplate.domain.replies import ServerInfo, ServerStopping


class ServerApi(ApiNoun):
    def get(self, timeout: Optional[float] = None) -> ServerInfo:
        return self._get(ServerInfo, "/server", timeout=timeout)

    def stop(self, timeout: Optional[float] = None) -> ServerStopping:
        """Stop the server; active runs continue."""
        return self._post(ServerStopping, "/server/stop", timeout=timeout)
