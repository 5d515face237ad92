"""Changes in a workspace, as they happen."""

from __future__ import annotations

from typing import Iterator, Optional

from footplate.api.base import ApiNoun


class ChangesApi(ApiNoun):
    def follow(self, workspace: str, *, since: Optional[str] = None) -> Iterator[bytes]:
        """Yield pieces of a stream of server-sent events; `since` is the id of the last event that was read."""
        return self._download("/workspaces/{workspace}/changes", {"since": since}, workspace=workspace)
