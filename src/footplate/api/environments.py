"""Registered environments of a workspace, and the curated ones."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Optional, Sequence

from footplate.api.base import ApiNoun
from footplate.domain.records import CuratedView, EnvironmentView


class EnvironmentsApi(ApiNoun):
    def register(self, workspace: str, name: str, definition: Mapping[str, Any]) -> EnvironmentView:
        """Register a definition. An unchanged definition keeps its version."""
        body = {"name": name, "definition": definition}
        return self._post(EnvironmentView, "/workspaces/{workspace}/environments", body, workspace=workspace)

    def list(self, workspace: str) -> Iterator[EnvironmentView]:
        return self._items(EnvironmentView, "/workspaces/{workspace}/environments", workspace=workspace)

    def get(
        self, workspace: str, name: str, version: str = "latest", *, label: Optional[str] = None
    ) -> EnvironmentView:
        path = "/workspaces/{workspace}/environments/{name}/{version}"
        return self._get(EnvironmentView, path, {"label": label}, workspace=workspace, name=name, version=version)

    def label(self, workspace: str, name: str, version: str, labels: Sequence[str]) -> EnvironmentView:
        path = "/workspaces/{workspace}/environments/{name}/{version}/labels"
        body = {"labels": list(labels)}
        return self._post(EnvironmentView, path, body, workspace=workspace, name=name, version=version)

    def list_curated(self) -> Iterator[CuratedView]:
        return self._items(CuratedView, "/curated-environments")

    def get_curated(self, name: str) -> CuratedView:
        return self._get(CuratedView, "/curated-environments/{name}", name=name)
