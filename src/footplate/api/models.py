"""Registered models of a workspace."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Optional, Sequence, Tuple, Union

from footplate.api.base import ApiNoun
from footplate.domain.codec import to_json
from footplate.domain.records import ModelView
from footplate.domain.requests import NewModel


class ModelsApi(ApiNoun):
    def register(self, workspace: str, model: NewModel) -> ModelView:
        """Register a new version. The same key again returns the same version."""
        return self._post(ModelView, "/workspaces/{workspace}/models", to_json(model), workspace=workspace)

    def list(
        self,
        workspace: str,
        *,
        name: Optional[str] = None,
        tag: Sequence[str] = (),
        property: Sequence[str] = (),
        run: Optional[str] = None,
        framework: Optional[str] = None,
        latest: bool = False,
    ) -> Iterator[ModelView]:
        """`tag` and `property`: `key` or `key=value`, each must match."""
        query = {
            "name": name, "tag": tag, "property": property, "run": run, "framework": framework, "latest": latest or None
        }  # fmt: skip
        return self._items(ModelView, "/workspaces/{workspace}/models", query, workspace=workspace)

    def get(self, workspace: str, name: str, version: Union[int, str] = "latest") -> ModelView:
        path = "/workspaces/{workspace}/models/{name}/{version}"
        return self._get(ModelView, path, workspace=workspace, name=name, version=version)

    def change(
        self,
        workspace: str,
        name: str,
        version: int,
        *,
        description: Optional[str] = None,
        tags: Optional[Mapping[str, Optional[str]]] = None,
        remove_tags: Sequence[str] = (),
        properties: Optional[Mapping[str, str]] = None,
        datasets: Sequence[Tuple[str, str]] = (),
        resources: Optional[Mapping[str, Any]] = None,
        options: Optional[Mapping[str, Any]] = None,
        aliases: Sequence[str] = (),
        remove_aliases: Sequence[str] = (),
    ) -> ModelView:
        """Change fields; `options`, `datasets`, as (purpose, id), and `aliases` are added.

        Other versions lose the aliases.
        """
        body = {
            "description": description, "tags": tags, "remove_tags": list(remove_tags), "properties": properties,
            "datasets": [list(pair) for pair in datasets], "resources": resources, "options": options,
        }  # fmt: skip
        moved = {"aliases": list(aliases), "remove_aliases": list(remove_aliases)}
        body.update({name: value for name, value in moved.items() if value})  # servers before 0.2 know neither
        path = "/workspaces/{workspace}/models/{name}/{version}"
        return self._patch(ModelView, path, body, workspace=workspace, name=name, version=version)

    def delete(self, workspace: str, name: str, version: int) -> None:
        path = "/workspaces/{workspace}/models/{name}/{version}"
        self._send("DELETE", path, workspace=workspace, name=name, version=version)
