"""Datasets: definitions, registered versions, lineage, and the datasets of a run."""

from __future__ import annotations

from typing import Iterator, Mapping, Optional, Sequence, Union

from footplate.api.base import ApiNoun
from footplate.domain.codec import to_json
from footplate.domain.datasets import DatasetView, DataUse, Lineage
from footplate.domain.replies import DatasetFile, UnregisteredDataset
from footplate.domain.requests import NewDataset


class DatasetsApi(ApiNoun):
    def register(self, workspace: str, dataset: NewDataset) -> DatasetView:
        """Keep a definition; with a name it is registered. The same key again returns the same dataset."""
        return self._post(DatasetView, "/workspaces/{workspace}/datasets", to_json(dataset), workspace=workspace)

    def list(
        self, workspace: str, *, name: Optional[str] = None, tag: Sequence[str] = (), latest: bool = False
    ) -> Iterator[DatasetView]:
        """`tag`: `key` or `key=value`, each must match."""
        query = {"name": name, "tag": tag, "latest": latest or None}
        return self._items(DatasetView, "/workspaces/{workspace}/datasets", query, workspace=workspace)

    def get(self, workspace: str, name: str, version: Union[int, str] = "latest") -> DatasetView:
        path = "/workspaces/{workspace}/datasets/{name}/{version}"
        return self._get(DatasetView, path, workspace=workspace, name=name, version=version)

    def unregister(self, workspace: str, name: str, version: Optional[int] = None) -> int:
        """Take the name from one version or from all; they keep their ids. Return their number."""
        path = "/workspaces/{workspace}/datasets/{name}"
        return self._delete(UnregisteredDataset, path, {"version": version}, workspace=workspace, name=name).versions

    def by_id(self, workspace: str, id: str) -> DatasetView:
        return self._get(DatasetView, "/workspaces/{workspace}/dataset-ids/{id}", workspace=workspace, id=id)

    def change(
        self,
        workspace: str,
        id: str,
        *,
        description: Optional[str] = None,
        tags: Optional[Mapping[str, Optional[str]]] = None,
        remove_tags: Sequence[str] = (),
    ) -> DatasetView:
        body = {"description": description, "tags": tags, "remove_tags": list(remove_tags)}
        return self._patch(DatasetView, "/workspaces/{workspace}/dataset-ids/{id}", body, workspace=workspace, id=id)

    def files(self, workspace: str, id: str, limit: Optional[int] = None) -> Iterator[DatasetFile]:
        """Yield the files that a version pins; `limit` is the size of a page."""
        path = "/workspaces/{workspace}/dataset-ids/{id}/files"
        return self._items(DatasetFile, path, {"limit": limit}, workspace=workspace, id=id)

    def lineage(self, workspace: str, id: str) -> Lineage:
        """Return the runs that wrote and read a version, and the models made from it."""
        return self._get(Lineage, "/workspaces/{workspace}/dataset-ids/{id}/lineage", workspace=workspace, id=id)

    def of_run(self, run: str) -> Iterator[DataUse]:
        """Yield the datasets that a run read and wrote."""
        return self._items(DataUse, "/runs/{run}/datasets", run=run)

    def note_read(self, run: str, dataset: str, name: str) -> None:
        """Record a read that the run was not submitted with."""
        self._send("POST", "/runs/{run}/datasets", json={"dataset": dataset, "name": name}, run=run)
