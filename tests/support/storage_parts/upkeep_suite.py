"""Deletion of runs and workspaces, and of content that nothing refers to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from footplate.content.manifest import FILE, PLAIN, ManifestEntry, to_manifest
from footplate.domain.records import FileView, ModelView, Outcome, Stage
from footplate.errors import Conflict, NotFound
from footplate.storage import Storage
from footplate.storage.upkeep.garbage import collect_garbage
from support.storage_parts.fixtures import WORKSPACE, StorageFixtures, journal, log_all, record, workspace

_LONG_AGO = -3600.0  # a grace period that ends in an hour: all content is older


def add_run(store: Storage, id: str, stage: Stage = Stage.ENDED, **spec: Any) -> None:
    made = record(id, stage=stage, tags={"a": "b"}, **spec)
    outcome = Outcome("completed") if stage is Stage.ENDED else None
    store.runs.create(replace(made, outcome=outcome), "", [])


def add_file(store: Storage, run: str, content: bytes) -> str:
    digest = store.blobs.put_bytes(content)
    store.files.add(run, [FileView(f"outputs/{digest[:8]}", len(content), digest)], False, 1.0)
    return digest


def add_snapshot(store: Storage, *contents: bytes) -> tuple[str, list[str]]:
    digests = [store.blobs.put_bytes(content) for content in contents]
    rows = [ManifestEntry(f"{n}.py", FILE, PLAIN, len(contents[n]), each) for n, each in enumerate(digests)]
    return store.blobs.put_bytes(to_manifest(rows)), digests


class DeletionTests(StorageFixtures):
    def test_a_deleted_run_leaves_nothing(self, store: Storage, tmp_path: Path) -> None:
        add_run(store, "kept")
        add_run(store, "gone")
        add_run(store, "child", parent="gone")
        for run in ("kept", "gone"):
            add_file(store, run, b"weights")
            store.logs.append(run, "user_logs/std_log.txt", 0, b"hello\n")
            slots, words = journal(tmp_path / run, lambda j: log_all(j, [1.0, 2.0]))
            store.metrics.append(run, "w", "text", 0, words)
            store.metrics.append(run, "w", "slots", 0, slots)
        assert store.deletion.delete("gone") == ["gone", "child"]
        for read in (store.runs.view, store.runs.story, store.logs.list, store.metrics.problems):
            with pytest.raises(NotFound, match="there is no run 'gone'"):
                read("gone")
        assert [folder.name for folder in (store.home / "runs").iterdir()] == ["kept"]
        assert [file.path for file in store.logs.list("kept")] == ["user_logs/std_log.txt"]
        assert store.files.list("kept", "")[0].size == 7
        add_run(store, "gone")
        assert store.logs.list("gone") == []
        assert store.files.list("gone", "") == []
        assert store.metrics.problems("gone") == []

    def test_an_active_run_is_not_deleted(self, store: Storage) -> None:
        add_run(store, "parent")
        add_run(store, "child", parent="parent", stage=Stage.RUNNING)
        with pytest.raises(Conflict, match="run child is Running"):
            store.deletion.delete("parent")
        add_run(store, "group", stage=Stage.RUNNING)
        add_run(store, "trial", parent="group")
        with pytest.raises(Conflict, match="run trial is a child of group, which has not ended"):
            store.deletion.delete("trial")
        assert [view.id for view in store.runs.children("parent")] == ["child"]

    def test_the_origin_of_a_model_is_deleted_by_force_only(self, store: Storage) -> None:
        add_run(store, "origin")
        digest = add_file(store, "origin", b"weights")
        files = (FileView("model.pt", 7, digest),)
        store.models.add("key", ModelView(WORKSPACE, "digits", 0, 1.0, "model.pt", files, run="origin"))
        with pytest.raises(Conflict, match="model digits:1 was made by run origin"):
            store.deletion.delete("origin")
        assert store.deletion.delete("origin", force=True) == ["origin"]
        collect_garbage(store, _LONG_AGO, dry_run=False)
        assert store.blobs.has(digest)

    def test_a_family_of_many_runs_is_deleted(self, store: Storage) -> None:
        add_run(store, "sweep")
        for number in range(501):
            add_run(store, f"trial_{number}", parent="sweep")
        assert len(store.deletion.delete("sweep")) == 502

    def test_an_unknown_run_is_not_found(self, store: Storage) -> None:
        with pytest.raises(NotFound):
            store.deletion.delete("../../etc")


class WorkspaceDeletionTests(StorageFixtures):
    def test_an_empty_workspace_is_deleted(self, store: Storage) -> None:
        store.experiments.get_or_create(WORKSPACE, "steam", 1.0)
        store.datastores.access(WORKSPACE, "workspaceblobstore")
        store.workspace_deletion.delete(WORKSPACE, "trains")
        assert store.workspaces.find() == []
        assert not (store.home / "stores" / WORKSPACE).exists()

    def test_everything_in_a_workspace_is_deleted_by_force_only(self, store: Storage) -> None:
        store.workspaces.create(workspace("w-2", "other"))
        add_run(store, "run")
        add_run(store, "child", parent="run")
        digest = add_file(store, "run", b"weights")
        files = (FileView("model.pt", 7, digest),)
        store.models.add("key", ModelView(WORKSPACE, "digits", 0, 1.0, "model.pt", files, run="run", tags={"a": "b"}))
        place = Path(store.datastores.access(WORKSPACE, "workspaceblobstore").location["path"])
        (place / "data.csv").write_text("1,2")
        held = "it has 2 runs, 1 model, data in its built-in datastores"
        with pytest.raises(Conflict, match=held):
            store.workspace_deletion.delete(WORKSPACE, "trains")
        assert store.runs.view("run").id == "run"
        store.workspace_deletion.delete(WORKSPACE, "trains", force=True)
        assert [view.name for view in store.workspaces.find()] == ["other"]
        assert not place.exists()
        assert collect_garbage(store, _LONG_AGO, dry_run=False).blobs == 1

    def test_a_workspace_with_an_active_run_stays(self, store: Storage) -> None:
        add_run(store, "run", stage=Stage.RUNNING)
        with pytest.raises(Conflict, match="run run of workspace 'trains' is Running"):
            store.workspace_deletion.delete(WORKSPACE, "trains", force=True)
        assert len(store.workspaces.find()) == 1


class GarbageTests(StorageFixtures):
    def test_only_content_without_a_reference_goes(self, store: Storage) -> None:
        snapshot, sources = add_snapshot(store, b"import a", b"import b")
        add_run(store, "run", snapshot=snapshot)
        output = add_file(store, "run", b"weights")
        unused = store.blobs.put_bytes(b"unused")
        planned = collect_garbage(store, _LONG_AGO, dry_run=True)
        assert (planned.blobs, planned.bytes) == (1, 6)
        assert store.blobs.has(unused)
        assert collect_garbage(store, _LONG_AGO, dry_run=False) == planned
        assert store.blobs.missing([snapshot, *sources, output, unused]) == {unused}
        store.deletion.delete("run")
        freed = collect_garbage(store, _LONG_AGO, dry_run=False)
        assert freed.blobs == 4
        assert list(store.blobs.walk()) == []

    def test_recent_content_stays(self, store: Storage) -> None:
        snapshot, sources = add_snapshot(store, b"import a")
        found = collect_garbage(store, 3600.0, dry_run=False)
        assert (found.blobs, found.recent_blobs) == (0, 1), "the source file belongs to a recent manifest"
        assert not store.blobs.missing([snapshot, *sources])

    def test_a_snapshot_that_a_record_mentions_stays(self, store: Storage) -> None:
        snapshot, sources = add_snapshot(store, b"import a")
        add_run(store, "run", description=f"as in {snapshot}")
        collect_garbage(store, _LONG_AGO, dry_run=False)
        assert not store.blobs.missing([snapshot, *sources])
