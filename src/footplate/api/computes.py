"""Compute targets of a workspace."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Optional

from footplate.api.base import ApiNoun
from footplate.domain.codec import from_json
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
        made = self._put("/workspaces/{workspace}/computes/{name}", body, workspace=workspace, name=name)
        return from_json(ComputeView, made)

    def engines(self) -> Iterator[EngineView]:
        """List the engines of the server with their options."""
        return self._items(EngineView, "/engines")

    def list(self, workspace: str) -> Iterator[ComputeView]:
        return self._items(ComputeView, "/workspaces/{workspace}/computes", workspace=workspace)

    def get(self, workspace: str, name: str) -> ComputeView:
        found = self._get("/workspaces/{workspace}/computes/{name}", workspace=workspace, name=name)
        return from_json(ComputeView, found)

    def cluster(self, workspace: str, name: str) -> ClusterView:
        """Ask the cluster of a target how many machines it has."""
        path = "/workspaces/{workspace}/computes/{name}/cluster"
        return from_json(ClusterView, self._get(path, workspace=workspace, name=name))

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
        changed = self._patch("/workspaces/{workspace}/computes/{name}", body, workspace=workspace, name=name)
        return from_json(ComputeView, changed)

    def delete(self, workspace: str, name: str) -> None:
        """Delete a target. Raises Conflict while runs that have not ended use it."""
        self._delete("/workspaces/{workspace}/computes/{name}", workspace=workspace, name=name)
