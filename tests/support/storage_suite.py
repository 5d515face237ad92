"""The conformance suite of the store: the behaviour that every database behind it must have.

To test a database, inherit from `StorageSuite` and define a fixture `address`, the address of an empty database (None
for SQLite in the home directory):

    class TestMine(StorageSuite):
        @pytest.fixture
        def address(self) -> str: ...
"""

from __future__ import annotations

import multiprocessing
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect, text

from footplate.domain.node_kinds import KnownKind, NodeKind
from footplate.domain.orders import Lock
from footplate.domain.records import ComputeView, FileView, ModelView, StoryLine
from footplate.domain.targets import LOCAL
from footplate.errors import Conflict, NotFound
from footplate.storage import RunQuery, Storage, migrate
from footplate.storage.database import Database
from footplate.storage.schema import HEAD, metadata
from support.storage_parts.content_suite import FileTests, LogTests, MetricTests
from support.storage_parts.data_suite import DatasetTests, DatastoreTests, LineageTests
from support.storage_parts.fixtures import (
    ODD,
    WORKSPACE,
    StorageFixtures,
    created,
    ids,
    journal,
    line,
    record,
    workspace,
)
from support.storage_parts.runs_suite import RunListTests, RunTests
from support.storage_parts.upkeep_suite import DeletionTests, GarbageTests, WorkspaceDeletionTests


class WorkspaceTests(StorageFixtures):
    def test_a_workspace_is_found_by_any_part_of_its_name(self, store: Storage) -> None:
        store.workspaces.create(workspace("w-2", "ships", 2.0))
        assert store.workspaces.get("w-2") == workspace("w-2", "ships", 2.0)
        assert [w.id for w in store.workspaces.find(name="ships")] == ["w-2"]
        assert [w.id for w in store.workspaces.find(subscription_id="sub", resource_group="group")] == [
            WORKSPACE,
            "w-2",
        ]
        assert store.workspaces.find(subscription_id="other") == []

    def test_name_group_and_subscription_of_a_workspace_are_unique(self, store: Storage) -> None:
        with pytest.raises(Conflict, match="'trains'"):
            store.workspaces.create(workspace("w-2"))
        assert len(store.workspaces.find()) == 1

    def test_unknown_workspaces_and_experiments_are_not_found(self, store: Storage) -> None:
        for look in (store.workspaces.get, store.experiments.get, store.runs.record, store.runs.view, store.runs.story):
            with pytest.raises(NotFound, match="nothing-here"):
                look("nothing-here")

    def test_an_experiment_is_created_once(self, store: Storage) -> None:
        first = store.experiments.get_or_create(WORKSPACE, "steam", 5.0)
        assert store.experiments.get_or_create(WORKSPACE, "steam", 6.0) == first
        assert store.experiments.get(first.id) == first
        with pytest.raises(NotFound, match="w-9"):
            store.experiments.get_or_create("w-9", "steam", 5.0)

    def test_an_experiment_is_archived_tagged_and_listed(self, store: Storage) -> None:
        steam = store.experiments.get_or_create(WORKSPACE, "steam", 5.0)
        diesel = store.experiments.get_or_create(WORKSPACE, "diesel", 6.0)
        store.experiments.change(steam.id, archived=9.0, tags={"a": "1", "b": None, ODD: ODD})
        store.experiments.change(steam.id, remove_tags=["a", "never-there"])
        changed = store.experiments.get(steam.id)
        assert (changed.archived, changed.tags) == (9.0, {"b": None, ODD: ODD})
        assert [e.name for e in store.experiments.list(WORKSPACE)] == ["diesel", "steam"]
        assert store.experiments.list(WORKSPACE, archived=False) == [diesel]
        assert [e.name for e in store.experiments.list(WORKSPACE, archived=True)] == ["steam"]
        assert [e.name for e in store.experiments.list(WORKSPACE, name="steam")] == ["steam"]
        store.experiments.change(steam.id, archived=False)
        assert store.experiments.get(steam.id).archived is None

    def test_only_an_empty_experiment_is_deleted(self, store: Storage) -> None:
        empty = store.experiments.get_or_create(WORKSPACE, "empty", 5.0)
        store.experiments.delete(empty.id)
        with pytest.raises(NotFound):
            store.experiments.get(empty.id)
        used = created(store, record("r-1"), "ann").experiment_id
        with pytest.raises(Conflict, match="'steam' has runs"):
            store.experiments.delete(used)


class RegistryTests(StorageFixtures):
    def model(self, name: str = "net", **more: Any) -> ModelView:
        files = (FileView("net.pt", 3, "ab" * 32), FileView(ODD, 0, "cd" * 32))
        return ModelView(WORKSPACE, name, 0, 10.0, "net.pt", files, **more)

    def test_versions_count_up_and_are_never_reused(self, store: Storage) -> None:
        assert [store.models.add(f"k-{i}", self.model()).version for i in range(3)] == [1, 2, 3]
        store.models.delete(WORKSPACE, "net", 3)
        assert store.models.get(WORKSPACE, "net").version == 2
        assert store.models.add("k-9", self.model()).version == 4
        assert store.models.add("k-10", self.model("other")).version == 1
        with pytest.raises(NotFound, match="version 3 of model 'net'"):
            store.models.get(WORKSPACE, "net", 3)
        with pytest.raises(NotFound):
            store.models.delete(WORKSPACE, "net", 3)

    def test_the_same_key_gives_the_same_model(self, store: Storage) -> None:
        asked = self.model(tags={"a": None}, properties={"p": "1"}, resources={"cpu": 1.5}, options={"x": [1]})
        first = store.models.add("key", asked)
        assert store.models.add("key", asked) == first == replace(asked, version=1)
        assert store.models.get(WORKSPACE, "net", 1) == first

        def add(_: int) -> int:
            return store.models.add("twin", asked).version

        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(add, range(8))) == {2}
        assert store.models.add("next", asked).version == 3

    def test_models_are_found(self, store: Storage) -> None:
        store.models.add("1", self.model(tags={"a": "1"}, framework="torch", run="r-1"))
        store.models.add("2", self.model(tags={"a": "2"}, properties={"p": "q"}))
        store.models.add("3", self.model("other", framework="torch"))

        def found(**query: Any) -> list[tuple[str, int]]:
            return [(m.name, m.version) for m in store.models.list(WORKSPACE, **query)]

        assert found() == [("other", 1), ("net", 2), ("net", 1)]
        assert found(name="net", latest=True) == [("net", 2)]
        assert found(latest=True) == [("other", 1), ("net", 2)]
        assert found(tags=[("a", "1")]) == [("net", 1)]
        assert found(tags=[("a", None)]) == [("net", 2), ("net", 1)]
        assert found(properties=[("p", "q")]) == [("net", 2)]
        assert found(run="r-1") == found(framework="torch", name="net") == [("net", 1)]

    def test_a_model_changes_like_a_run(self, store: Storage) -> None:
        store.models.add("1", self.model(tags={"a": "1"}, properties={"p": "1"}))
        store.models.change(WORKSPACE, "net", 1, description="better", tags={"b": None}, remove_tags=["a"])
        store.models.change(WORKSPACE, "net", 1, properties={"p": "1", "q": "2"})
        with pytest.raises(Conflict, match="'p' is '1' and cannot become '2'"):
            store.models.change(WORKSPACE, "net", 1, properties={"p": "2"})
        model = store.models.get(WORKSPACE, "net", 1)
        assert (model.description, model.tags, model.properties) == ("better", {"b": None}, {"p": "1", "q": "2"})
        store.models.change(WORKSPACE, "net", 1, resources={"cpu": 2}, options={"a": 1})
        store.models.change(WORKSPACE, "net", 1, options={"b": 2})
        model = store.models.get(WORKSPACE, "net", 1)
        assert (model.resources, model.options, model.description) == ({"cpu": 2}, {"a": 1, "b": 2}, "better")

    def test_an_alias_names_one_version_of_a_model(self, store: Storage) -> None:
        for key, name in (("1", "net"), ("2", "net"), ("3", "other")):
            store.models.add(key, self.model(name))

        def aliases(name: str, version: int) -> tuple[str, ...]:
            return store.models.get(WORKSPACE, name, version).aliases

        store.models.change(WORKSPACE, "other", 1, aliases=["best"])
        store.models.change(WORKSPACE, "net", 1, aliases=["best", "old"])
        assert aliases("net", 1) == ("best", "old")
        store.models.change(WORKSPACE, "net", 2, aliases=["best"])
        store.models.change(WORKSPACE, "net", 2, aliases=["best"], remove_aliases=["old", "never"])
        assert (aliases("net", 1), aliases("net", 2), aliases("other", 1)) == (("old",), ("best",), ("best",))
        store.models.change(WORKSPACE, "net", 1, remove_aliases=["old"])
        store.models.delete(WORKSPACE, "net", 2)
        assert [model.aliases for model in store.models.list(WORKSPACE, name="net")] == [()]

        def move(version: int) -> None:
            store.models.change(WORKSPACE, "net", version, aliases=["moved"])

        assert store.models.add("4", self.model()).version == 3
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(move, [1, 3] * 8))
        assert sum(model.aliases == ("moved",) for model in store.models.list(WORKSPACE, name="net")) == 1

    def test_compute_targets(self, store: Storage) -> None:
        known = KnownKind("GPUs", NodeKind("x86_64", "2.36", pythons={"/usr/bin/python3": "3.11.2"}), "r", 5.0)
        view = ComputeView("big", WORKSPACE, LOCAL, 4, 10.0, 10.0, options={"vm": "x"}, kinds=(known,))
        store.computes.put(view, replace=False)
        with pytest.raises(Conflict, match="'big' exists"):
            store.computes.put(view, replace=False)
        store.computes.put(replace(view, max_nodes=2, created=99.0, modified=20.0), replace=True)
        assert store.computes.get(WORKSPACE, "big") == replace(view, max_nodes=2, modified=20.0)
        assert store.computes.change(WORKSPACE, "big", state="Failed").state == "Failed"
        assert store.computes.change(WORKSPACE, "big", kinds=(known, known)).kinds == (known, known)
        assert [c.name for c in store.computes.list(WORKSPACE)] == ["big"]
        store.computes.delete(WORKSPACE, "big")
        for gone in (store.computes.get, store.computes.delete):
            with pytest.raises(NotFound, match="'big'"):
                gone(WORKSPACE, "big")
        with pytest.raises(NotFound, match="'big'"):
            store.computes.change(WORKSPACE, "big", state="x")

    def test_an_unchanged_environment_keeps_its_version(self, store: Storage) -> None:
        def register(definition: dict[str, Any]) -> str:
            return store.environments.register(WORKSPACE, "env", definition, 10.0).version

        assert [register(d) for d in ({"a": 1}, {"a": 1}, {"a": 2}, {"a": 1})] == ["1", "1", "2", "3"]
        for i in range(9):
            register({"b": i})
        assert store.environments.get(WORKSPACE, "env").version == "12"
        assert store.environments.get(WORKSPACE, "env", "2").definition == {"a": 2}
        assert [(e.name, e.version) for e in store.environments.list(WORKSPACE)] == [("env", "12")]
        for version in ("13", "x", "²"):
            with pytest.raises(NotFound, match="version"):
                store.environments.get(WORKSPACE, "env", version)

    def test_a_label_refers_to_one_version_of_an_environment(self, store: Storage) -> None:
        for number in (1, 2):
            store.environments.register(WORKSPACE, "env", {"a": number}, 10.0)
        store.environments.register(WORKSPACE, "other", {}, 10.0)
        store.environments.set_labels(WORKSPACE, "env", "1", ["tested", ODD])
        assert store.environments.get_by_label(WORKSPACE, "env", ODD).version == "1"
        store.environments.set_labels(WORKSPACE, "env", "2", ["tested"])
        assert store.environments.get_by_label(WORKSPACE, "env", "tested").definition == {"a": 2}
        assert store.environments.get_by_label(WORKSPACE, "env", ODD).version == "1"
        with pytest.raises(NotFound, match="'tested'"):
            store.environments.get_by_label(WORKSPACE, "other", "tested")
        with pytest.raises(NotFound, match="version '3'"):
            store.environments.set_labels(WORKSPACE, "env", "3", ["tested"])

    def test_locks(self, store: Storage) -> None:
        lock = Lock("ab" * 32, "venv", {"requirements": [ODD]}, ("old",))
        store.locks.put(lock)
        store.locks.put(lock)
        assert store.locks.get(lock.digest) == lock
        with pytest.raises(NotFound):
            store.locks.get("no")


class LifeTests(StorageFixtures):
    def test_a_restart_finds_everything(
        self, store: Storage, tmp_path: Path, open_store: Callable[[], Storage]
    ) -> None:
        view = created(store, record("r-1", tags={"a": "1"}), "ann", [line(1)])
        store.logs.append("r-1", "a", 0, b"123")
        slots, words = journal(tmp_path / "s", lambda j: j.log("loss", 1.0))
        store.metrics.append("r-1", "rank_0", "text", 0, words)
        store.metrics.append("r-1", "rank_0", "slots", 0, slots)
        metrics = store.metrics.read("r-1")
        store.close()
        again = open_store()
        assert again.runs.view("r-1") == view
        assert again.runs.story("r-1") == [line(1)]
        assert again.logs.read("r-1", "a", 0, 9) == b"123"
        assert again.metrics.read("r-1") == metrics

    def test_forty_threads_read_and_write(self, store: Storage) -> None:
        def work(i: int) -> int:
            store.runs.create(record(f"r-{i}"), "", [line(1)])
            store.runs.save(replace(record(f"r-{i}"), version=1), 0, [line(2)])
            store.logs.append(f"r-{i}", "a", 0, b"x" * i)
            store.runs.change(f"r-{i}", tags={"n": str(i)})
            return len(store.runs.list(RunQuery(WORKSPACE))[0]) and len(store.runs.story(f"r-{i}"))

        with ThreadPoolExecutor(40) as pool:
            assert list(pool.map(work, range(120))) == [2] * 120
        assert ids(store.runs.list(RunQuery(WORKSPACE, tags=(("n", "77"),)))) == ["r-77"]

    def test_a_fresh_database_equals_a_migrated_one(self, tmp_path: Path, open_store: Callable[[], Storage]) -> None:
        """Create the tables with `schema` and with the revisions, in the same database one after the other."""
        store = open_store()
        made = _shape(store.database)
        with store.database.write() as connection:
            metadata.drop_all(connection)
            connection.execute(text("DROP TABLE alembic_version"))
        migrate.upgrade(store.database, store.home)
        assert _shape(store.database) == made
        with store.database.read() as connection:
            assert migrate.revision_of(connection) == HEAD

    def test_stories_of_old_databases_get_the_new_event_names(self, store: Storage) -> None:
        lines = [StoryLine(seq, float(seq), old, "Running", old, {}) for seq, old in enumerate(OLD_EVENTS, start=1)]
        store.runs.create(record("r-1"), "ann", lines)
        with store.database.write() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = '0007'"))
        migrate.upgrade(store.database, store.home, "0008")
        assert [line.event for line in store.runs.story("r-1")] == [*OLD_EVENTS.values()]

    def test_a_killed_migration_changes_nothing(
        self, store: Storage, tmp_path: Path, address: str | None, open_store: Callable[[], Storage]
    ) -> None:
        store.runs.create(record("r-1"), "ann", [])
        store.close()
        deadly = later_revision(tmp_path / "deadly", "os.kill(os.getpid(), 9)")
        child = multiprocessing.get_context("fork").Process(target=migrate_to, args=(store.home, address, deadly))
        child.start()
        child.join(60)
        assert child.exitcode == -9
        again = open_store()
        assert "later" not in _shape(again.database)
        assert again.runs.view("r-1").created_by == "ann"
        again.close()
        migrate_to(store.home, address, later_revision(tmp_path / "good", "pass"))
        with again.database.read() as connection:
            assert connection.execute(text("SELECT n FROM later")).scalars().all() == [7]
            assert connection.execute(text("SELECT created_by FROM runs")).scalars().all() == ["changed"]
        with pytest.raises(Conflict, match="newer Footplate"):
            open_store()

    def test_ten_processes_open_a_new_store_at_once(self, open_store: Callable[[], Storage]) -> None:
        def open_one(_: int) -> int:
            return len(open_store().workspaces.find())

        with ThreadPoolExecutor(10) as pool:
            assert list(pool.map(open_one, range(10))) == [0] * 10

    def test_a_database_of_a_newer_program_is_left_alone(
        self, store: Storage, open_store: Callable[[], Storage]
    ) -> None:
        with store.database.write() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        with pytest.raises(Conflict, match="newer Footplate") as refused:
            open_store()
        assert "upgrade" in str(refused.value.hint)


OLD_EVENTS = {
    "Submitted": "RunSubmitted",
    "Prepares": "NodeProgressed",
    "Prepared": "NodePrepared",
    "RankFailed": "RankFailed",
    "Done": "NodeFinished",
    "AttemptBegins": "AttemptStarted",
}


def later_revision(folder: Path, last_words: str) -> Path:
    """Add one more revision, which changes the tables, changes rows, and then runs the given statement."""
    shutil.copytree(migrate.FOLDER / "versions", folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "9000_later.py").write_text(
        f"""import os
from alembic import op
import sqlalchemy as sa
revision, down_revision = "9000", "{HEAD}"

def upgrade():
    op.create_table("later", sa.Column("n", sa.Integer()))
    op.execute("INSERT INTO later VALUES (7)")
    op.execute("UPDATE runs SET created_by = 'changed'")
    {last_words}
"""
    )
    return folder


def migrate_to(home: Path, address: str | None, versions: Path) -> None:
    database = Database(address or f"sqlite:///{home / 'footplate.db'}")
    migrate.upgrade(database, home, "9000", versions)
    database.close()


def _shape(database: Database) -> dict[str, Any]:
    """Return everything that the database reports about its tables, sorted."""
    with database.read() as connection:
        about = inspect(connection)
        return {
            table: {
                "columns": [(c["name"], str(c["type"]), c["nullable"]) for c in about.get_columns(table)],
                "key": about.get_pk_constraint(table),
                "unique": sorted((str(u["name"]), u["column_names"]) for u in about.get_unique_constraints(table)),
                "indexes": sorted((str(i["name"]), i["column_names"]) for i in about.get_indexes(table)),
                "foreign": sorted(
                    (str(f["name"]), f["constrained_columns"], f["referred_table"], str(f.get("options")))
                    for f in about.get_foreign_keys(table)
                ),
            }
            for table in about.get_table_names()
        }


class StorageSuite(
    WorkspaceTests, RunTests, RunListTests, FileTests, LogTests, MetricTests, RegistryTests, LifeTests,
    DatastoreTests,
    DatasetTests,
    LineageTests,
    DeletionTests,
    GarbageTests,
    WorkspaceDeletionTests,
):  # fmt: skip
    """All suites together."""
