"""Conformance of datastores, datasets and lineage."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import text

from footplate.domain.datasets import DatasetView, DatastoreView, DataUse, ModelUse
from footplate.domain.orders import DataInput
from footplate.domain.records import FileView, ModelView
from footplate.errors import Conflict, InvalidInput, NotFound
from footplate.storage import Storage
from support.storage_parts.fixtures import ODD, WORKSPACE, StorageFixtures, record, workspace

SECRET = {"key": "correct horse battery staple"}


def bucket(name: str = "bucket", **fields: Any) -> DatastoreView:
    return DatastoreView(WORKSPACE, name, "s3", {"bucket": "b"}, created=1.0, **fields)


def dataset(id: str, name: str | None = None, path: str = "mnist", **fields: Any) -> DatasetView:
    definition = {"sources": [{"datastore": "workspaceblobstore", "path": path}]}
    return DatasetView(id, WORKSPACE, "file", 10.0, definition, name, **fields)


class DatastoreTests(StorageFixtures):
    def test_built_in_datastores_are_folders_and_one_is_the_default(self, store: Storage) -> None:
        found = store.datastores.list(WORKSPACE)
        assert [(view.name, view.kind, view.is_default) for view in found] == [
            ("workspaceblobstore", "folder", True),
            ("workspacefilestore", "folder", False),
        ]
        assert found[0].location["path"].startswith(str(store.home))
        for act in (lambda: store.datastores.delete(WORKSPACE, "workspaceblobstore"),
                    lambda: store.datastores.put(bucket("workspaceblobstore"), {}, True)):  # fmt: skip
            with pytest.raises(InvalidInput, match="built in"):
                act()

    def test_credentials_are_encrypted_and_not_in_the_view(self, store: Storage) -> None:
        view = store.datastores.put(bucket(options={"odd": ODD}), SECRET, False)
        assert view.has_credentials and "staple" not in repr(view)
        assert store.datastores.access(WORKSPACE, "bucket").credentials == SECRET
        assert store.datastores.get(WORKSPACE, "bucket") == view
        with store.database.read() as connection:
            sealed = bytes(connection.execute(text("SELECT sealed FROM datastores")).scalar_one())
        assert b"staple" not in sealed

    def test_a_datastore_that_exists_is_a_conflict_unless_replaced(self, store: Storage) -> None:
        store.datastores.put(bucket(), SECRET, False)
        store.datastores.put(bucket(), SECRET, False)
        with pytest.raises(Conflict, match="'bucket'"):
            store.datastores.put(bucket(), {"key": "other"}, False)
        assert store.datastores.access(WORKSPACE, "bucket").credentials == SECRET
        assert not store.datastores.put(bucket(), {}, True).has_credentials

    def test_the_default_can_be_set_and_falls_back(self, store: Storage) -> None:
        store.datastores.put(bucket(), {}, False)
        with pytest.raises(NotFound, match="'nowhere'"):
            store.datastores.set_default(WORKSPACE, "nowhere")
        store.datastores.set_default(WORKSPACE, "bucket")
        assert [view.name for view in store.datastores.list(WORKSPACE) if view.is_default] == ["bucket"]
        store.datastores.delete(WORKSPACE, "bucket")
        assert store.datastores.default(WORKSPACE) == "workspaceblobstore"
        with pytest.raises(NotFound, match="'bucket'"):
            store.datastores.get(WORKSPACE, "bucket")
        with pytest.raises(NotFound, match="'bucket'"):
            store.datastores.delete(WORKSPACE, "bucket")


class DatasetTests(StorageFixtures):
    def test_versions_count_up_and_are_never_reused(self, store: Storage) -> None:
        first = store.datasets.add("k1", dataset("d1", "mnist", "a"))
        second = store.datasets.add("k2", dataset("d2", "mnist", "b", tags={ODD: ODD, "k": None}, description=ODD))
        assert (first.version, second.version) == (1, 2)
        assert store.datasets.add("k2", dataset("d3", "mnist", "c")) == second
        assert store.datasets.get(WORKSPACE, "mnist") == second == store.datasets.by_id("d2")
        assert store.datasets.get(WORKSPACE, "mnist", 1) == first
        assert store.datasets.unregister(WORKSPACE, "mnist") == 2
        assert store.datasets.add("k4", dataset("d4", "mnist", "d"), False).version == 3
        assert store.datasets.by_id("d1") == first

    def test_one_version_loses_its_name(self, store: Storage) -> None:
        for number in (1, 2, 3):
            store.datasets.add(f"k{number}", dataset(f"d{number}", "mnist", str(number)))
        assert store.datasets.unregister(WORKSPACE, "mnist", 3) == 1
        assert store.datasets.get(WORKSPACE, "mnist").version == 2
        assert [view.version for view in store.datasets.list(WORKSPACE, "mnist")] == [2, 1]
        with pytest.raises(NotFound, match="version 3 of dataset 'mnist'"):
            store.datasets.unregister(WORKSPACE, "mnist", 3)
        assert store.datasets.add("k4", dataset("d4", "mnist", "4")).version == 4

    def test_a_name_that_exists_needs_new_version(self, store: Storage) -> None:
        store.datasets.add("k1", dataset("d1", "mnist", "a"), False)
        with pytest.raises(Conflict, match="'mnist' already, at version 1"):
            store.datasets.add("k2", dataset("d2", "mnist", "b"), False)
        assert store.datasets.add("k3", dataset("d3", "mnist", "b"), True).version == 2

    def test_an_unchanged_dataset_keeps_its_version(self, store: Storage) -> None:
        first = store.datasets.add("k1", dataset("d1", "mnist", listing="ab", tags={"a": "1"}))
        same = store.datasets.add("k2", dataset("d2", "mnist", listing="ab", tags={"b": "2"}, description="now"))
        assert (same.id, same.version, same.tags, same.description) == (first.id, 1, {"a": "1", "b": "2"}, "now")
        assert store.datasets.add("k3", dataset("d3", "mnist", listing="cd")).version == 2

    def test_a_dataset_without_a_name_is_stored_once_per_request(self, store: Storage) -> None:
        def keep(n: int) -> str:
            return store.datasets.add("same", dataset(f"d{n}")).id

        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(keep, range(16)))
        assert len(set(found)) == 1
        assert store.datasets.list(WORKSPACE) == []
        assert store.datasets.by_id(found[0]).version is None

    def test_concurrent_registrations_get_different_versions(self, store: Storage) -> None:
        def register(n: int) -> int:
            return store.datasets.add(f"k{n}", dataset(f"d{n}", "mnist", str(n))).version or 0

        with ThreadPoolExecutor(8) as pool:
            assert sorted(pool.map(register, range(24))) == list(range(1, 25))

    def test_datasets_are_listed_by_name_tag_and_version(self, store: Storage) -> None:
        store.workspaces.create(workspace("w-2", "ships", 2.0))
        store.datasets.add("k1", dataset("d1", "a", "1", tags={"kind": "old"}))
        store.datasets.add("k2", dataset("d2", "a", "2"))
        store.datasets.add("k3", dataset("d3", "b", "3", tags={"kind": "old"}))
        assert [d.id for d in store.datasets.list(WORKSPACE)] == ["d3", "d2", "d1"]
        assert [d.id for d in store.datasets.list(WORKSPACE, latest=True)] == ["d3", "d2"]
        assert [d.id for d in store.datasets.list(WORKSPACE, name="a")] == ["d2", "d1"]
        assert [d.id for d in store.datasets.list(WORKSPACE, tags=[("kind", "old")], latest=True)] == ["d3", "d1"]
        assert store.datasets.list("w-2") == []

    def test_tags_and_description_change(self, store: Storage) -> None:
        store.datasets.add("k1", dataset("d1", "a", tags={"x": "1", "y": "2"}))
        changed = store.datasets.change("d1", "words", {"x": "3"}, ["y", "never"])
        assert (changed.description, changed.tags) == ("words", {"x": "3"})
        assert store.datasets.change("d1", None, None, ()) == changed

    def test_unknown_datasets_are_not_found(self, store: Storage) -> None:
        looks: list[Callable[[], Any]] = [
            lambda: store.datasets.by_id("ghost"),
            lambda: store.datasets.get(WORKSPACE, "ghost"),
            lambda: store.datasets.get(WORKSPACE, "ghost", 3),
            lambda: store.datasets.unregister(WORKSPACE, "ghost"),
            lambda: store.datasets.change("ghost", "x", None, ()),
        ]
        for look in looks:
            with pytest.raises(NotFound, match="ghost"):
                look()


class LineageTests(StorageFixtures):
    def test_a_run_is_stored_with_its_inputs(self, store: Storage) -> None:
        store.datasets.add("k1", dataset("d1", "mnist"))
        inputs = (DataInput("data", "d1"), DataInput("more", datastore="workspaceblobstore"))
        store.runs.create(record("r1", inputs=inputs), "me", [])
        assert store.runs.record("r1").spec.inputs == inputs
        use = DataUse("r1", "d1", "read", "data", "mnist", 1, "steam", "Preparing")
        assert store.lineage.of_run("r1") == [use] == store.lineage.of_dataset("d1")

    def test_reading_a_part_of_a_version_counts_as_reading_it(self, store: Storage) -> None:
        store.datasets.add("k1", dataset("d1", "mnist"))
        for key, id, of in (("k2", "d2", "d1"), ("k3", "d3", "d2"), ("k4", "d4", "ghost")):
            store.datasets.add(key, replace(dataset(id), definition={**dataset(id).definition, "of": of}))
        store.runs.create(record("r1", inputs=(DataInput("part", "d3"), DataInput("odd", "d4"))), "me", [])
        store.runs.create(record("r2"), "me", [])
        store.lineage.add_use("r2", "read", "later", "d2")
        read = {(use.run, use.name, use.dataset) for use in (*store.lineage.of_run("r1"), *store.lineage.of_run("r2"))}
        of_r1 = {("r1", "part", "d3"), ("r1", "part", "d2"), ("r1", "part", "d1"), ("r1", "odd", "d4")}
        assert read == of_r1 | {("r2", "later", "d2"), ("r2", "later", "d1")}
        view = ModelView(WORKSPACE, "net", 0, 1.0, "m", (FileView("m", 1, "ab"),), run="r1", experiment="steam")
        store.models.add("k", view, [("test", "d2")])
        assert {use.purpose for use in store.lineage.models_of_dataset("d1")} == {"test"}

    def test_a_run_with_an_unknown_dataset_is_not_stored(self, store: Storage) -> None:
        with pytest.raises(InvalidInput, match="ghost"):
            store.runs.create(record("r1", inputs=(DataInput("data", "ghost"),)), "me", [])
        with pytest.raises(NotFound):
            store.runs.view("r1")

    def test_an_output_of_a_run_is_recorded_once(self, store: Storage) -> None:
        store.runs.create(record("r1"), "me", [])
        store.datasets.add("k1", dataset("d1", "made", run="r1"))
        for _ in range(2):
            store.lineage.add_use("r1", "wrote", "out", "d1")
        assert [(use.role, use.name, use.version) for use in store.lineage.of_run("r1")] == [("wrote", "out", 1)]
        with pytest.raises(NotFound, match="ghost"):
            store.lineage.add_use("ghost", "wrote", "out", "d1")

    def test_a_model_has_the_datasets_of_its_run_and_its_own(self, store: Storage) -> None:
        store.datasets.add("k1", dataset("d1", "mnist"))
        store.datasets.add("k2", dataset("d2", "tests", "t"))
        store.runs.create(record("r1", inputs=(DataInput("data", "d1"),)), "me", [])
        files = (FileView("m", 1, "ab"),)
        view = ModelView(WORKSPACE, "net", 0, 1.0, "m", files, run="r1", experiment="steam")
        made = store.models.add("k", view, [("test", "d2")])
        uses = (ModelUse("net", 1, "d1", "data", "mnist", 1), ModelUse("net", 1, "d2", "test", "tests", 1))
        assert made.datasets == uses == store.models.get(WORKSPACE, "net").datasets
        assert store.models.list(WORKSPACE)[0].datasets == uses
        assert store.lineage.models_of_dataset("d1") == [uses[0]]
        store.models.delete(WORKSPACE, "net", 1)
        assert store.lineage.models_of_dataset("d1") == []
