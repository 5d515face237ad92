"""Datastores: register them, choose the default, and give access to authorized callers.

Bytes move between the store and its reader or writer. The server itself opens one only to compare the inputs of a
pipeline's steps.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from footplate.domain.data import StoreSpec
from footplate.domain.datasets import DatasetView, DatastoreView, RunData, check_datastore_name, datastores_of
from footplate.domain.requests import NewDatastore
from footplate.domain.specs import RunSpec
from footplate.errors import InvalidInput, NotAllowed
from footplate.storage import Storage

_IF_EXISTS = ("refuse", "replace")


class DatastoreService:
    def __init__(self, store: Storage) -> None:
        self._store = store

    def put(self, workspace: str, name: str, new: NewDatastore) -> DatastoreView:
        check_datastore_name(name)
        if new.if_exists not in _IF_EXISTS:
            raise InvalidInput(f"if_exists is {new.if_exists!r}", f"use {' or '.join(_IF_EXISTS)}")
        StoreSpec(new.kind, new.location, new.credentials).check()
        self._store.workspaces.get(workspace)
        view = DatastoreView(workspace, name, new.kind, new.location, created=time.time(), options=new.options)
        return self._store.datastores.put(view, new.credentials, new.if_exists == "replace")

    def get(self, workspace: str, name: str) -> DatastoreView:
        self._store.workspaces.get(workspace)
        return self._store.datastores.get(workspace, name)

    def list(self, workspace: str) -> list[DatastoreView]:
        self._store.workspaces.get(workspace)
        return self._store.datastores.list(workspace)

    def delete(self, workspace: str, name: str) -> None:
        self._store.datastores.delete(workspace, name)

    def default(self, workspace: str) -> DatastoreView:
        self._store.workspaces.get(workspace)
        return self._store.datastores.get(workspace, self._store.datastores.default(workspace))

    def set_default(self, workspace: str, name: str) -> DatastoreView:
        self._store.workspaces.get(workspace)
        self._store.datastores.set_default(workspace, name)
        return self._store.datastores.get(workspace, name)

    # ── With credentials ──────────────────────────────────────────────────────────────────────────────────────────────

    def access(self, workspace: str, name: str) -> StoreSpec:
        """Return all that is needed to open it: for users of the workspace, and for nodes of runs that need it."""
        return self._store.datastores.access(workspace, name)

    def access_for_run(self, run: str, name: str) -> StoreSpec:
        """As `access`, for a run: only stores that its inputs and outputs name, and stores without credentials."""
        record = self._store.runs.record(run)
        spec = self.access(record.workspace, name)
        if spec.credentials and name not in self.list_named(record.spec):
            raise NotAllowed(
                f"run {run} was not submitted with data of datastore {name!r}, and may not use its credentials",
                "hand the dataset to the run: arguments=['--data', dataset.as_named_input('data').as_mount()]",
            )
        return spec

    def list_named(self, spec: RunSpec) -> list[str]:
        """Return the datastores of a run's inputs and outputs."""
        return list(_names_in(spec, self._datasets_of(spec)))

    def data_of_run(self, run: str) -> RunData:
        """Return the data of a run for its nodes, in one response."""
        record = self._store.runs.record(run)
        datasets = self._datasets_of(record.spec)
        stores = {name: self.access(record.workspace, name) for name in _names_in(record.spec, datasets)}
        return RunData(datasets, stores)

    def _datasets_of(self, spec: RunSpec) -> dict[str, DatasetView]:
        ids = dict.fromkeys(each.dataset for each in spec.inputs if each.dataset)
        return {id: self._store.datasets.by_id(id) for id in ids}


def _names_in(spec: RunSpec, datasets: Mapping[str, DatasetView]) -> dict[str, None]:
    """Return the datastores of the run's inputs and outputs."""
    names = [each.datastore for each in (*spec.inputs, *spec.outputs) if each.datastore]
    for dataset in datasets.values():
        names += datastores_of(dataset.definition)
    return dict.fromkeys(names)
