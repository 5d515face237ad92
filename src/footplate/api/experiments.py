"""Experiments of a workspace."""

from __future__ import annotations

from typing import Iterator, Mapping, Optional, Sequence

from footplate.api.base import ApiNoun
from footplate.domain.records import ExperimentView


class ExperimentsApi(ApiNoun):
    def ensure(self, workspace: str, name: str) -> ExperimentView:
        """Return the experiment of this name; create it if necessary."""
        return self._put(ExperimentView, "/workspaces/{workspace}/experiments/{name}", workspace=workspace, name=name)

    def list(
        self, workspace: str, *, name: Optional[str] = None, archived: Optional[bool] = None
    ) -> Iterator[ExperimentView]:
        query = {"name": name, "archived": archived}
        return self._items(ExperimentView, "/workspaces/{workspace}/experiments", query, workspace=workspace)

    def change(
        self,
        experiment: str,
        *,
        archived: Optional[bool] = None,
        tags: Optional[Mapping[str, Optional[str]]] = None,
        remove_tags: Sequence[str] = (),
    ) -> ExperimentView:
        body = {"archived": archived, "tags": tags, "remove_tags": list(remove_tags)}
        return self._patch(ExperimentView, "/experiments/{experiment}", body, experiment=experiment)

    def delete(self, experiment: str) -> None:
        self._send("DELETE", "/experiments/{experiment}", experiment=experiment)
