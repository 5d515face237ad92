"""Datastores of a workspace, and access to them."""

from __future__ import annotations

from typing import Iterator

from footplate.api.base import ApiNoun
from footplate.domain.codec import from_json, to_json
from footplate.domain.data import StoreSpec
from footplate.domain.datasets import DatastoreView, RunData
from footplate.domain.requests import NewDatastore


class DatastoresApi(ApiNoun):
    def put(self, workspace: str, name: str, datastore: NewDatastore) -> DatastoreView:
        body = to_json(datastore)
        made = self._put("/workspaces/{workspace}/datastores/{name}", body, workspace=workspace, name=name)
        return from_json(DatastoreView, made)

    def list(self, workspace: str) -> Iterator[DatastoreView]:
        return self._items(DatastoreView, "/workspaces/{workspace}/datastores", workspace=workspace)

    def get(self, workspace: str, name: str) -> DatastoreView:
        found = self._get("/workspaces/{workspace}/datastores/{name}", workspace=workspace, name=name)
        return from_json(DatastoreView, found)

    def delete(self, workspace: str, name: str) -> None:
        self._delete("/workspaces/{workspace}/datastores/{name}", workspace=workspace, name=name)

    def default(self, workspace: str) -> DatastoreView:
        return from_json(DatastoreView, self._get("/workspaces/{workspace}/default-datastore", workspace=workspace))

    def set_default(self, workspace: str, name: str) -> DatastoreView:
        chosen = self._put("/workspaces/{workspace}/default-datastore", {"name": name}, workspace=workspace)
        return from_json(DatastoreView, chosen)

    def access(self, workspace: str, name: str) -> StoreSpec:
        """Return where a datastore is, with credentials. A run's token is refused: see `access_for_run`."""
        opened = self._post("/workspaces/{workspace}/datastores/{name}/access", workspace=workspace, name=name)
        return from_json(StoreSpec, opened)

    def access_for_run(self, run: str, name: str) -> StoreSpec:
        """The same, for a datastore that the run's inputs or outputs name."""
        return from_json(StoreSpec, self._get("/runs/{run}/datastores/{name}", run=run, name=name))

    def data_of_run(self, run: str) -> RunData:
        """Return all datasets and stores that the run's inputs and outputs name, with credentials."""
        return from_json(RunData, self._get("/runs/{run}/data", run=run))
