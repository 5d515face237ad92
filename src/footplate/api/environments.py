"""Registered environments of a workspace, and the curated ones."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Optional, Sequence

from footplate.api.base import ApiNoun
from footplate.domain.codec import from_json
from footplate.domain.records import CuratedView, EnvironmentView


class EnvironmentsApi(ApiNoun):
    def register(self, workspace: str, name: str, definition: Mapping[str, Any]) -> EnvironmentView:
        """Register a definition. An unchanged definition keeps its version."""
        body = {"name": name, "definition": definition}
        return from_json(EnvironmentView, self._post("/workspaces/{workspace}/environments", body, workspace=workspace))

    def list(self, workspace: str) -> Iterator[EnvironmentView]:
        return self._items(EnvironmentView, "/workspaces/{workspace}/environments", workspace=workspace)

    def get(
        self, workspace: str, name: str, version: str = "latest", *, label: Optional[str] = None
    ) -> EnvironmentView:
        path = "/workspaces/{workspace}/environments/{name}/{version}"
        found = self._get(path, {"label": label}, workspace=workspace, name=name, version=version)
        return from_json(EnvironmentView, found)

    def label(self, workspace: str, name: str, version: str, labels: Sequence[str]) -> EnvironmentView:
        path = "/workspaces/{workspace}/environments/{name}/{version}/labels"
        body = {"labels": list(labels)}
        return from_json(EnvironmentView, self._post(path, body, workspace=workspace, name=name, version=version))

    def list_curated(self) -> Iterator[CuratedView]:
        return self._items(CuratedView, "/curated-environments")

    def get_curated(self, name: str) -> CuratedView:
        return from_json(CuratedView, self._get("/curated-environments/{name}", name=name))
