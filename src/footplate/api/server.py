"""The server itself."""

from __future__ import annotations

from typing import Optional

from footplate.api.base import ApiNoun
from footplate.domain.codec import from_json
from footplate.domain.replies import ServerInfo, ServerStopping


class ServerApi(ApiNoun):
    def get(self, timeout: Optional[float] = None) -> ServerInfo:
        return from_json(ServerInfo, self._get("/server", timeout=timeout))

    def stop(self, timeout: Optional[float] = None) -> ServerStopping:
        """Stop the server; active runs continue."""
        return from_json(ServerStopping, self._post("/server/stop", timeout=timeout))
