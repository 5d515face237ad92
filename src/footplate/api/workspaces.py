"""Workspaces of the server."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Optional

from footplate.api.base import ApiNoun
from footplate.domain.records import WorkspaceView
from footplate.domain.replies import SavedView
from footplate.domain.targets import LOCAL


class WorkspacesApi(ApiNoun):
    def create(
        self,
        name: str,
        subscription_id: str,
        resource_group: str,
        *,
        location: str = LOCAL,
        friendly_name: Optional[str] = None,
        tags: Optional[Mapping[str, Optional[str]]] = None,
        if_exists: str = "refuse",
    ) -> WorkspaceView:
        """Create a workspace. `if_exists`: refuse or return."""
        body = {
            "name": name, "subscription_id": subscription_id, "resource_group": resource_group, "location": location,
            "friendly_name": friendly_name, "tags": dict(tags or {}), "if_exists": if_exists,
        }  # fmt: skip
        return self._post(WorkspaceView, "/workspaces", body)

    def list(
        self,
        *,
        name: Optional[str] = None,
        subscription_id: Optional[str] = None,
        resource_group: Optional[str] = None,
    ) -> Iterator[WorkspaceView]:
        query = {"name": name, "subscription_id": subscription_id, "resource_group": resource_group}
        return self._items(WorkspaceView, "/workspaces", query)

    def get(self, workspace: str) -> WorkspaceView:
        return self._get(WorkspaceView, "/workspaces/{workspace}", workspace=workspace)

    def delete(self, workspace: str, force: bool = False) -> None:
        """Delete a workspace that is empty; with `force`, everything in it too."""
        self._send("DELETE", "/workspaces/{workspace}", {"force": force or None}, workspace=workspace)

    def views(self, workspace: str) -> Iterator[SavedView]:
        """Yield the saved views of the page's table of runs."""
        return self._items(SavedView, "/workspaces/{workspace}/views", workspace=workspace)

    def save_view(self, workspace: str, name: str, search: Mapping[str, Any]) -> SavedView:
        """Save a view; one of the same name is replaced. `search` is what the page's address holds."""
        path = "/workspaces/{workspace}/views/{name}"
        return self._put(SavedView, path, {"search": dict(search)}, workspace=workspace, name=name)

    def delete_view(self, workspace: str, name: str) -> None:
        self._send("DELETE", "/workspaces/{workspace}/views/{name}", workspace=workspace, name=name)
