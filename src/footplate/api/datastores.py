"""Datastores of a workspace, and access to them."""

from __future__ import annotations

from typing import Iterator

from footplate.api.base import ApiNoun
from footplate.domain.codec import to_json
from footplate.domain.data import StoreSpec
from footplate.domain.datasets import DatastoreView, RunData
from footplate.domain.requests import NewDatastore


class DatastoresApi(ApiNoun):
    def put(self, workspace: str, name: str, datastore: NewDatastore) -> DatastoreView:
        path = "/workspaces/{workspace}/datastores/{name}"
        return self._put(DatastoreView, path, to_json(datastore), workspace=workspace, name=name)

    def list(self, workspace: str) -> Iterator[DatastoreView]:
        return self._items(DatastoreView, "/workspaces/{workspace}/datastores", workspace=workspace)

    def get(self, workspace: str, name: str) -> DatastoreView:
        return self._get(DatastoreView, "/workspaces/{workspace}/datastores/{name}", workspace=workspace, name=name)

    def delete(self, workspace: str, name: str) -> None:
        self._send("DELETE", "/workspaces/{workspace}/datastores/{name}", workspace=workspace, name=name)

    def default(self, workspace: str) -> DatastoreView:
        return self._get(DatastoreView, "/workspaces/{workspace}/default-datastore", workspace=workspace)

    def set_default(self, workspace: str, name: str) -> DatastoreView:
        path = "/workspaces/{workspace}/default-datastore"
        return self._put(DatastoreView, path, {"name": name}, workspace=workspace)

    def access(self, workspace: str, name: str) -> StoreSpec:
        """Return where a datastore is, with credentials. A run's token is refused: see `access_for_run`."""
        return self._post(StoreSpec, "/workspaces/{workspace}/datastores/{name}/access", workspace=workspace, name=name)

    def access_for_run(self, run: str, name: str) -> StoreSpec:
        """The same, for a datastore that the run's inputs or outputs name."""
        return self._get(StoreSpec, "/runs/{run}/datastores/{name}", run=run, name=name)

    def data_of_run(self, run: str) -> RunData:
        """Return all datasets and stores that the run's inputs and outputs name, with credentials."""
        return self._get(RunData, "/runs/{run}/data", run=run)
