"""Compute targets of a workspace."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Optional

from footplate.api.base import ApiNoun
from footplate.domain.records import ClusterView, ComputeView, EngineView
from footplate.domain.targets import LOCAL


class ComputesApi(ApiNoun):
    def put(
        self,
        workspace: str,
        name: str,
        *,
        max_nodes: int,
        min_nodes: int = 0,
        idle_seconds: float = 1800.0,
        engine: str = LOCAL,
        options: Optional[Mapping[str, Any]] = None,
        if_exists: str = "refuse",
        check: bool = True,
    ) -> ComputeView:
        """Create a target. `if_exists`: refuse or replace. `check`: also ask its cluster whether it answers."""
        body = {
            "max_nodes": max_nodes,
            "min_nodes": min_nodes,
            "idle_seconds": idle_seconds,
            "engine": engine,
            "options": dict(options or {}),
            "if_exists": if_exists,
            "check": check,
        }
        return self._put(ComputeView, "/workspaces/{workspace}/computes/{name}", body, workspace=workspace, name=name)

    def engines(self) -> Iterator[EngineView]:
        """List the engines of the server with their options."""
        return self._items(EngineView, "/engines")

    def list(self, workspace: str) -> Iterator[ComputeView]:
        return self._items(ComputeView, "/workspaces/{workspace}/computes", workspace=workspace)

    def get(self, workspace: str, name: str) -> ComputeView:
        return self._get(ComputeView, "/workspaces/{workspace}/computes/{name}", workspace=workspace, name=name)

    def cluster(self, workspace: str, name: str) -> ClusterView:
        """Ask the cluster of a target how many machines it has."""
        path = "/workspaces/{workspace}/computes/{name}/cluster"
        return self._get(ClusterView, path, workspace=workspace, name=name)

    def change(
        self,
        workspace: str,
        name: str,
        *,
        max_nodes: Optional[int] = None,
        min_nodes: Optional[int] = None,
        idle_seconds: Optional[float] = None,
        options: Optional[Mapping[str, Any]] = None,
    ) -> ComputeView:
        """Change the settings that are not None."""
        body = {"max_nodes": max_nodes, "min_nodes": min_nodes, "idle_seconds": idle_seconds, "options": options}
        return self._patch(ComputeView, "/workspaces/{workspace}/computes/{name}", body, workspace=workspace, name=name)

    def delete(self, workspace: str, name: str) -> None:
        """Delete a target. Raises Conflict while runs that have not ended use it."""
        self._send("DELETE", "/workspaces/{workspace}/computes/{name}", workspace=workspace, name=name)
