"""Datasets: store, register and find them, and trace them to runs and models."""

from __future__ import annotations

import time
import uuid

from footplate.content.listing import Listing
from footplate.domain.data import Item
from footplate.domain.datasets import KINDS, DatasetView, DataUse, Lineage, check_dataset_name, datastores_of
from footplate.domain.requests import NewDataset
from footplate.domain.specs import RunSpec
from footplate.errors import InvalidInput, NotFound
from footplate.storage import Storage

LARGEST_PAGE = 10_000


class DatasetService:
    def __init__(self, store: Storage) -> None:
        self._store = store

    def register(self, workspace: str, new: NewDataset) -> DatasetView:
        self._check(workspace, new)
        files, size = self._measure(new.listing)
        view = DatasetView(
            id=str(uuid.uuid4()), workspace=workspace, kind=new.kind, created=time.time(), definition=new.definition,
            name=new.name, listing=new.listing, files=files, size=size, description=new.description, tags=new.tags,
            run=new.run if new.output else None,
        )  # fmt: skip
        stored = self._store.datasets.add(new.key, view, new.new_version)
        if new.run and new.output:
            self._store.lineage.add_use(new.run, "wrote", new.output, stored.id)
        return stored

    def _check(self, workspace: str, new: NewDataset) -> None:
        if new.kind not in KINDS:
            raise InvalidInput(f"datasets of the kind {new.kind!r} are unknown", f"use {' or '.join(KINDS)}")
        if new.name is not None:
            check_dataset_name(new.name)
        self._store.workspaces.get(workspace)
        for name in datastores_of(new.definition):
            self._store.datastores.get(workspace, name)
        if new.run is not None and self._store.runs.view(new.run).workspace != workspace:
            raise InvalidInput(f"run {new.run!r} is in another workspace", "register its data in its own workspace")

    def _measure(self, listing: str | None) -> tuple[int | None, int | None]:
        if listing is None:
            return None, None
        with self._open(listing) as pinned:
            return pinned.count, pinned.size

    def _open(self, digest: str) -> Listing:
        if not self._store.blobs.has(digest):
            raise InvalidInput(f"the listing {digest} is not in the store", "send its blob first")
        return Listing(self._store.blobs.checked_path(digest))

    def by_id(self, workspace: str, id: str) -> DatasetView:
        view = self._store.datasets.by_id(id)
        if view.workspace != workspace:
            raise NotFound(f"there is no dataset with the id {id!r} in this workspace", "look in the other workspaces")
        return view

    def get(self, workspace: str, name: str, version: int | None) -> DatasetView:
        return self._store.datasets.get(workspace, name, version)

    def list(
        self, workspace: str, name: str | None, tags: tuple[tuple[str, str | None], ...], latest: bool
    ) -> list[DatasetView]:
        self._store.workspaces.get(workspace)
        return self._store.datasets.list(workspace, name, tags, latest)

    def change(
        self,
        workspace: str,
        id: str,
        description: str | None = None,
        tags: dict[str, str | None] | None = None,
        remove_tags: tuple[str, ...] = (),
    ) -> DatasetView:
        self.by_id(workspace, id)
        return self._store.datasets.change(id, description, tags, remove_tags)

    def unregister(self, workspace: str, name: str, version: int | None) -> int:
        return self._store.datasets.unregister(workspace, name, version)

    def files(self, workspace: str, id: str, after: str, limit: int) -> tuple[list[Item], str | None]:
        """Return a page of the files that the version pins, and the cursor of the next page."""
        view = self.by_id(workspace, id)
        if view.listing is None:
            raise NotFound(f"dataset {view.name or id!r} pins no files", "register it: a version pins what it names")
        with self._open(view.listing) as listing:
            page = listing.page(limit + 1, after)
        return page[:limit], page[limit - 1].name if len(page) > limit else None

    # ── Lineage ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def lineage(self, workspace: str, id: str) -> Lineage:
        view = self.by_id(workspace, id)
        return Lineage(
            view, tuple(self._store.lineage.of_dataset(id)), tuple(self._store.lineage.models_of_dataset(id))
        )

    def of_run(self, run: str) -> list[DataUse]:
        return self._store.lineage.of_run(run)

    def note_read(self, run: str, dataset: str, name: str) -> None:
        """Record that a run has read a dataset which it was not submitted with."""
        record = self._store.runs.record(run)
        self.by_id(record.workspace, dataset)
        self._store.lineage.add_use(run, "read", name, dataset)

    def check_run(self, workspace: str, spec: RunSpec) -> None:
        """Raise InvalidInput for a run whose data belongs to another workspace."""
        for each in spec.inputs:
            if each.dataset is not None:
                self.by_id(workspace, each.dataset)
        for each in (*spec.inputs, *spec.outputs):
            if each.datastore is not None:
                self._store.datastores.get(workspace, each.datastore)
