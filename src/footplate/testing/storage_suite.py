"""The conformance suite of the store: what every database behind it must do, in the same words.

A database is put to the test by a class that inherits `StorageSuite` and has a fixture `address`, the address of an
empty database (None for SQLite in the home folder):

    class TestMine(StorageSuite):
        @pytest.fixture
        def address(self) -> str: ...
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect, text

from footplate.domain import lifecycle
from footplate.domain.records import (
    Cause,
    ComputeView,
    FileView,
    Lock,
    ModelView,
    NodeRecord,
    NodeState,
    Outcome,
    RunRecord,
    RunView,
    Stage,
    StoryLine,
    Waiting,
    WorkspaceView,
)
from footplate.domain.specs import Distribution, Program, RunSpec
from footplate.errors import Conflict, InvalidInput, NotFound
from footplate.job.journal import Journal
from footplate.storage import RunQuery, Store, migrate
from footplate.storage.database import Database

WORKSPACE = "w-1"
ODD = "a'b\"c;--\\\n%_é漢😀 "
"""A name with everything in it that a careless statement trips over."""


def workspace(id: str = WORKSPACE, name: str = "trains") -> WorkspaceView:
    return WorkspaceView(id, name, "sub", "group", "local", 1.0, None, {"team": None, ODD: ODD})


def record(id: str, experiment: str = "steam", stage: Stage = Stage.LOCKING, **spec: Any) -> RunRecord:
    asked = RunSpec(experiment=experiment, program=Program(script="train.py"), **spec)
    return RunRecord(id, WORKSPACE, asked, stage, 100.0)


def line(seq: int, text: str = "something happened") -> StoryLine:
    return StoryLine(seq, float(seq), "Something", "Running", text, {"seq": seq})


def journal(folder: Path, write: Callable[[Journal], None], writer: str = "rank_0") -> tuple[bytes, bytes]:
    """What a job's writer would have left behind: (slots, text)."""
    with Journal(str(folder), writer) as opened:
        write(opened)
    text_file = folder / f"{writer}.text"
    return (folder / f"{writer}.slots").read_bytes(), text_file.read_bytes() if text_file.exists() else b""


def ids(page: tuple[list[RunView], str | None]) -> list[str]:
    return [view.id for view in page[0]]


class StorageFixtures:
    @pytest.fixture
    def address(self) -> str | None:
        raise NotImplementedError("say which database to test")

    @pytest.fixture
    def open_store(self, tmp_path: Path, address: str | None) -> Generator[Callable[[], Store], None, None]:
        """Opens the same store again and again, as restarts of a server do."""
        opened: list[Store] = []

        def open_one() -> Store:
            opened.append(Store.open(tmp_path / "home", address))
            return opened[-1]

        yield open_one
        for store in opened:
            store.close()

    @pytest.fixture
    def store(self, open_store: Callable[[], Store]) -> Store:
        store = open_store()
        store.workspaces.create(workspace())
        return store


class WorkspaceTests(StorageFixtures):
    def test_a_workspace_is_found_by_any_part_of_its_name(self, store: Store) -> None:
        store.workspaces.create(workspace("w-2", "ships"))
        assert store.workspaces.get("w-2") == workspace("w-2", "ships")
        assert [w.id for w in store.workspaces.find(name="ships")] == ["w-2"]
        assert [w.id for w in store.workspaces.find(subscription_id="sub", resource_group="group")] == [WORKSPACE, "w-2"]
        assert store.workspaces.find(subscription_id="other") == []

    def test_the_triple_of_a_workspace_is_unique(self, store: Store) -> None:
        with pytest.raises(Conflict, match="'trains'"):
            store.workspaces.create(workspace("w-2"))
        assert len(store.workspaces.find()) == 1

    def test_what_is_not_there_is_not_found(self, store: Store) -> None:
        for look in (store.workspaces.get, store.experiments.get, store.runs.record, store.runs.view, store.runs.story):
            with pytest.raises(NotFound, match="nothing-here"):
                look("nothing-here")

    def test_an_experiment_is_made_once(self, store: Store) -> None:
        first = store.experiments.get_or_create(WORKSPACE, "steam", 5.0)
        assert store.experiments.get_or_create(WORKSPACE, "steam", 6.0) == first
        assert store.experiments.get(first.id) == first
        with pytest.raises(NotFound, match="w-9"):
            store.experiments.get_or_create("w-9", "steam", 5.0)

    def test_an_experiment_is_archived_tagged_and_listed(self, store: Store) -> None:
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

    def test_only_an_empty_experiment_is_deleted(self, store: Store) -> None:
        empty = store.experiments.get_or_create(WORKSPACE, "empty", 5.0)
        store.experiments.delete(empty.id)
        with pytest.raises(NotFound):
            store.experiments.get(empty.id)
        used = store.runs.create(record("r-1"), "ann", []).experiment_id
        with pytest.raises(Conflict, match="'steam' has runs"):
            store.experiments.delete(used)


class RunTests(StorageFixtures):
    def test_a_run_comes_back_as_it_was_given(self, store: Store) -> None:
        asked = record(
            "r-1", tags={"a": "1", "b": None, ODD: ODD}, properties={"p": ODD}, display_name="Run one",
            description=ODD, snapshot="ab" * 32, type="azureml.scriptrun", name="one",
            definition={"deep": [1, 2.5, None, {"é": "\x00", "nan": "NaN"}]}, distribution=Distribution(node_count=3),
        )  # fmt: skip
        view = store.runs.create(asked, "ann", [line(1)])
        assert store.runs.record("r-1") == asked
        assert store.runs.view("r-1") == view
        assert (view.experiment, view.number, view.status, view.created_by) == ("steam", 1, "Preparing", "ann")
        assert (view.tags, view.properties) == ({"a": "1", "b": None, ODD: ODD}, {"p": ODD})
        assert (view.spec, view.snapshot, view.display_name) == (asked.spec, "ab" * 32, "Run one")
        assert store.experiments.get(view.experiment_id).name == "steam"

    def test_an_id_is_used_once(self, store: Store) -> None:
        store.runs.create(record("r-1"), "ann", [])
        with pytest.raises(Conflict, match="'r-1' exists"):
            store.runs.create(record("r-1", "other"), "ann", [])
        assert [e.name for e in store.experiments.list(WORKSPACE)] == ["steam"]

    @pytest.mark.parametrize("bad", ["../x", "a/b", "", ".hidden", "a..b", "x" * 256, "a\0b", "a\n"])
    def test_an_id_that_would_be_a_path_is_refused(self, store: Store, bad: str) -> None:
        with pytest.raises(InvalidInput, match="is not a run id"):
            store.runs.create(record(bad), "ann", [])

    def test_numbers_are_given_in_each_experiment_without_gaps(self, store: Store) -> None:
        numbers = [store.runs.create(record(f"r-{i}", "ab"[i % 2]), "", []).number for i in range(6)]
        assert numbers == [1, 1, 2, 2, 3, 3]

    def test_forty_threads_get_forty_numbers(self, store: Store) -> None:
        with ThreadPoolExecutor(40) as pool:
            views = list(pool.map(lambda i: store.runs.create(record(f"r-{i}"), "", [line(1)]), range(80)))
        assert sorted(view.number for view in views) == list(range(1, 81))

    def test_save_is_compare_and_set(self, store: Store) -> None:
        first = record("r-1")
        store.runs.create(first, "ann", [line(0)])
        nodes = (NodeRecord(0, NodeState.RUNNING, "host", "10.0.0.1", "busy", {"cpus": 4, "gpus": []}),)
        ended = replace(
            first, stage=Stage.ENDED, version=1, attempt=2, started=3.0, ended=4.0, lock="cd" * 32, handle="h:1",
            waiting=Waiting("because", 2), warnings=("careful",), nodes=nodes,
            outcome=Outcome("failed", Cause("exit", ODD, last_lines=("a", "b"), exit_code=3)),
        )  # fmt: skip
        assert store.runs.save(ended, 0, [line(1), line(2)])
        assert not store.runs.save(replace(first, version=1), 0, [line(3)])
        assert store.runs.record("r-1") == ended
        assert store.runs.view("r-1").status == lifecycle.status(ended) == "Failed"
        assert [s.seq for s in store.runs.story("r-1")] == [1, 2, 3]
        with pytest.raises(NotFound, match="r-9"):
            store.runs.save(replace(ended, id="r-9"), 1, [])

    def test_of_many_who_save_one_wins(self, store: Store) -> None:
        first = record("r-1")
        store.runs.create(first, "", [])
        with ThreadPoolExecutor(20) as pool:
            won = list(pool.map(lambda i: store.runs.save(replace(first, version=1), 0, [line(i)]), range(20)))
        assert sum(won) == 1
        assert len(store.runs.story("r-1")) == 1

    def test_the_story_is_told_in_order(self, store: Store) -> None:
        told = [line(1, ODD), line(2), line(3)]
        store.runs.create(record("r-1"), "", told[:1])
        store.runs.save(replace(record("r-1"), version=1), 0, told[1:])
        assert store.runs.story("r-1") == told

    def test_the_queue_and_the_busy_nodes_of_a_target(self, store: Store) -> None:
        two = Distribution("torch", node_count=2)
        store.runs.create(record("waits", stage=Stage.QUEUED, target="big"), "", [])
        store.runs.create(record("waits-too", stage=Stage.QUEUED, target="big"), "", [])
        store.runs.create(record("elsewhere", stage=Stage.QUEUED, target="small"), "", [])
        store.runs.create(record("runs", stage=Stage.RUNNING, target="big", distribution=two), "", [])
        store.runs.create(record("ends", stage=Stage.FINALIZING, target="big"), "", [])
        store.runs.create(record("own", stage=Stage.RUNNING, target="big", kind="interactive"), "", [])
        over = replace(record("over", stage=Stage.ENDED, target="big"), outcome=Outcome("completed"))
        store.runs.create(over, "", [])
        assert [r.id for r in store.runs.waiting(WORKSPACE, "big")] == ["waits", "waits-too"]
        assert store.runs.busy_nodes(WORKSPACE, "big") == 3
        assert store.runs.busy_nodes(WORKSPACE, "nowhere") == 0
        assert {r.id for r in store.runs.active()} == {"waits", "waits-too", "elsewhere", "runs", "ends", "own"}

    def test_tags_come_and_go(self, store: Store) -> None:
        store.runs.create(record("r-1", tags={"a": "1", "b": "2"}), "", [])
        store.runs.change("r-1", tags={"a": "new", ODD: None}, remove_tags=["b", "never-there"])
        assert store.runs.view("r-1").tags == {"a": "new", ODD: None}
        store.runs.change("r-1", display_name="shown", description="told")
        view = store.runs.view("r-1")
        assert (view.display_name, view.description, view.tags["a"]) == ("shown", "told", "new")

    def test_a_property_is_written_once(self, store: Store) -> None:
        store.runs.create(record("r-1", properties={"p": "1"}), "", [])
        store.runs.change("r-1", properties={"p": "1", "q": "2"})
        with pytest.raises(Conflict, match="'p' is '1' and cannot become '9'"):
            store.runs.change("r-1", display_name="no", tags={"t": "no"}, properties={"r": "3", "p": "9"})
        view = store.runs.view("r-1")
        assert (view.properties, view.tags, view.display_name) == ({"p": "1", "q": "2"}, {}, None)

    def test_a_snapshot_is_taken_once(self, store: Store) -> None:
        store.runs.create(record("r-1"), "", [])
        store.runs.set_snapshot("r-1", "ab" * 32)
        assert store.runs.view("r-1").snapshot == "ab" * 32
        with pytest.raises(Conflict, match="has a snapshot"):
            store.runs.set_snapshot("r-1", "cd" * 32)

    def test_text_that_no_database_keeps_is_refused(self, store: Store) -> None:
        store.runs.create(record("r-1"), "", [])
        for bad in ("a\0b", "\ud800"):
            with pytest.raises(InvalidInput, match="NUL|Unicode"):
                store.runs.change("r-1", tags={"fine": "yes", "bad": bad})
        assert store.runs.view("r-1").tags == {}

    def test_a_long_value_is_kept_and_found(self, store: Store) -> None:
        long = "x" * 100_000
        store.runs.create(record("r-1", tags={"note": long}), "", [])
        store.runs.create(record("r-2", tags={"note": long + "y"}), "", [])
        assert ids(store.runs.list(RunQuery(WORKSPACE, tags=(("note", long),)))) == ["r-1"]
        with pytest.raises(InvalidInput, match="cannot name a tag"):
            store.runs.change("r-1", tags={"k" * 256: ""})

    def test_a_child_needs_its_parent(self, store: Store) -> None:
        with pytest.raises(NotFound, match="ghost"):
            store.runs.create(record("r-1", parent="ghost"), "", [])
        store.workspaces.create(workspace("w-2", "ships"))
        store.runs.create(record("r-1"), "", [])
        with pytest.raises(InvalidInput, match="another workspace"):
            store.runs.create(replace(record("r-2", parent="r-1"), workspace="w-2"), "", [])

    def test_views_come_in_the_order_asked_for(self, store: Store) -> None:
        for i in range(3):
            store.runs.create(record(f"r-{i}"), "", [])
        assert [v.id for v in store.runs.views(["r-2", "ghost", "r-0"])] == ["r-2", "r-0"]


class RunListTests(StorageFixtures):
    @pytest.fixture
    def many(self, store: Store, tmp_path: Path) -> Store:
        """Twelve runs: r-0 … r-11, a family below r-0, two experiments, several states and metrics."""
        for i in range(12):
            stage = Stage.ENDED if i % 3 == 0 else Stage.RUNNING
            new = record(
                f"r-{i}", "steam" if i < 8 else "diesel", stage, type="typed" if i == 4 else None,
                tags={"even": str(i % 2 == 0), "nth": str(i)}, properties={"third": str(i % 3)},
                parent={1: "r-0", 2: "r-1"}.get(i),
            )  # fmt: skip
            store.runs.create(replace(new, outcome=Outcome("completed") if i % 3 == 0 else None), "", [])
        values = {3: 0.5, 4: 1.5, 5: math.nan, 6: -math.inf, 7: math.inf, 9: 2.5, 10: 1.5}
        for i, value in values.items():
            self.log(store, tmp_path, f"r-{i}", value)
        return store

    def log(self, store: Store, tmp_path: Path, run: str, value: float) -> None:
        slots, words = journal(tmp_path / "spool" / run, lambda j: (j.log("loss", 7.0), j.log("loss", value))[0])
        store.metrics.append(run, "rank_0", "text", 0, words)
        store.metrics.append(run, "rank_0", "slots", 0, slots)

    def test_newest_first_top_level_without_specs(self, many: Store) -> None:
        page = many.runs.list(RunQuery(WORKSPACE))
        assert ids(page) == ["r-11", "r-10", "r-9", "r-8", "r-7", "r-6", "r-5", "r-4", "r-3", "r-0"]
        assert all(view.spec is None for view in page[0])
        assert page[1] is None
        assert page[0][0].tags == {"even": "False", "nth": "11"}
        assert ids(many.runs.list(RunQuery(WORKSPACE, ascending=True, limit=2))) == ["r-0", "r-3"]
        assert many.runs.list(RunQuery("w-9")) == ([], None)

    def test_filters(self, many: Store) -> None:
        def found(**query: Any) -> list[str]:
            return ids(many.runs.list(RunQuery(WORKSPACE, **query)))

        assert found(experiment="diesel") == ["r-11", "r-10", "r-9", "r-8"]
        assert found(experiment="nothing") == []
        assert found(status=("Completed",)) == ["r-9", "r-6", "r-3", "r-0"]
        assert found(status=("Completed", "Running"), experiment="diesel") == ["r-11", "r-10", "r-9", "r-8"]
        assert found(type="typed") == ["r-4"]
        assert found(tags=(("even", "True"),), experiment="steam") == ["r-6", "r-4", "r-0"]
        assert found(tags=(("even", "True"), ("nth", "6"))) == ["r-6"]
        assert found(tags=(("nth", None),), limit=1) == ["r-11"]
        assert found(tags=(("never", None),)) == []
        assert found(properties=(("third", "0"),)) == ["r-9", "r-6", "r-3", "r-0"]
        assert found(tags=(("third", "0"),)) == []

    def test_families(self, many: Store) -> None:
        assert ids(many.runs.list(RunQuery(WORKSPACE, parent="r-0"))) == ["r-1"]
        assert ids(many.runs.list(RunQuery(WORKSPACE, parent="ghost"))) == []
        assert ids(many.runs.list(RunQuery(WORKSPACE, ancestor="r-0"))) == ["r-2", "r-1"]
        assert ids(many.runs.list(RunQuery(WORKSPACE, parent="any", ancestor="r-0", status=("Running",)))) == ["r-2", "r-1"]
        assert len(ids(many.runs.list(RunQuery(WORKSPACE, parent="any")))) == 12
        assert [v.id for v in many.runs.children("r-0")] == ["r-1"]
        assert [v.id for v in many.runs.children("r-0", recursive=True)] == ["r-1", "r-2"]
        assert many.runs.view("r-2").parent == "r-1"

    def test_metric_bounds_are_about_the_last_value(self, many: Store) -> None:
        def found(**query: Any) -> list[str]:
            return ids(many.runs.list(RunQuery(WORKSPACE, metric="loss", **query)))

        assert found() == ["r-10", "r-9", "r-7", "r-6", "r-5", "r-4", "r-3"]
        assert found(metric_min=1.5) == ["r-10", "r-9", "r-7", "r-4"]
        assert found(metric_max=1.5) == ["r-10", "r-6", "r-4", "r-3"]
        assert found(metric_min=1.0, metric_max=2.0, experiment="steam") == ["r-4"]
        assert ids(many.runs.list(RunQuery(WORKSPACE, metric="never"))) == []

    def test_order_by_metric_puts_nan_last_both_ways(self, many: Store) -> None:
        def found(**query: Any) -> list[str]:
            return ids(many.runs.list(RunQuery(WORKSPACE, order="metric:loss", **query)))

        assert found() == ["r-7", "r-9", "r-10", "r-4", "r-3", "r-6", "r-5"]
        assert found(ascending=True) == ["r-6", "r-3", "r-4", "r-10", "r-9", "r-7", "r-5"]
        assert found(experiment="steam", status=("Running",)) == ["r-7", "r-4", "r-5"]
        assert found(metric="loss", metric_min=1.0) == ["r-7", "r-9", "r-10", "r-4"]
        assert found(tags=(("even", "True"),)) == ["r-10", "r-4", "r-6"]

    @pytest.mark.parametrize("order", ["created", "metric:loss"])
    @pytest.mark.parametrize("ascending", [True, False])
    @pytest.mark.parametrize("tags", [(), (("even", "True"),), (("even", None),)])
    @pytest.mark.parametrize("rare", [0, 5000])
    def test_pages_are_the_whole_in_pieces(
        self, many: Store, order: str, ascending: bool, tags: Any, rare: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Both ways to a page, the walk and the sort, give the same pages."""
        monkeypatch.setattr("footplate.storage.run_query.RARE", rare)
        query = RunQuery(WORKSPACE, "steam", order=order, ascending=ascending, tags=tags)
        whole, pieces, cursor = ids(many.runs.list(query)), list[str](), None
        while True:
            page, cursor = many.runs.list(replace(query, limit=1, cursor=cursor))
            pieces += [view.id for view in page]
            if cursor is None:
                break
        assert pieces == whole != []

    def test_a_page_stays_what_it_is_when_runs_are_added(self, many: Store) -> None:
        query = RunQuery(WORKSPACE, limit=3)
        _, cursor = many.runs.list(query)
        many.runs.create(record("new"), "", [])
        assert ids(many.runs.list(replace(query, cursor=cursor))) == ["r-8", "r-7", "r-6"]

    @pytest.mark.parametrize(
        "bad", [{"limit": 0}, {"order": "age"}, {"order": "metric:"}, {"metric_min": 1.0}, {"cursor": "x"}, {"cursor": "é"}]
    )
    def test_a_question_that_makes_no_sense_is_refused(self, store: Store, bad: dict[str, Any]) -> None:
        with pytest.raises(InvalidInput):
            store.runs.list(RunQuery(WORKSPACE, **bad))

    def test_a_cursor_belongs_to_its_order(self, many: Store) -> None:
        _, cursor = many.runs.list(RunQuery(WORKSPACE, limit=1))
        with pytest.raises(InvalidInput, match="not a cursor of this query"):
            many.runs.list(RunQuery(WORKSPACE, order="metric:loss", cursor=cursor))


class FileTests(StorageFixtures):
    @pytest.fixture
    def run(self, store: Store) -> str:
        return store.runs.create(record("r-1"), "", []).id

    def file(self, path: str, size: int = 3) -> FileView:
        return FileView(path, size, "ab" * 32, 50.0)

    def test_files_are_listed_by_path_and_prefix(self, store: Store, run: str) -> None:
        names = ["outputs/b", "outputs/a", "outputs2/x", "outputs/é/\udcff", ODD, "outputs/\udcff\udcff"]
        assert store.files.add(run, [self.file(n) for n in names], False, 50.0) == (names, [])
        assert {f.path for f in store.files.list(run)} == set(names)
        expected = ["outputs/a", "outputs/b", "outputs/é/\udcff", "outputs/\udcff\udcff"]
        assert [f.path for f in store.files.list(run, "outputs/")] == expected
        assert store.files.get(run, "outputs/é/\udcff") == self.file("outputs/é/\udcff")
        assert store.files.list(run, "%") == []

    def test_what_a_user_uploads_must_all_be_new(self, store: Store, run: str) -> None:
        store.files.add(run, [self.file("a")], False, 50.0)
        with pytest.raises(Conflict, match="has a file 'a'"):
            store.files.add(run, [self.file("b"), self.file("a"), self.file("c")], False, 60.0)
        with pytest.raises(Conflict, match="has a file 'd'"):
            store.files.add(run, [self.file("d"), self.file("d")], False, 60.0)
        assert [f.path for f in store.files.list(run)] == ["a"]

    def test_what_is_collected_skips_names_that_exist(self, store: Store, run: str) -> None:
        store.files.add(run, [self.file("a", 1)], False, 50.0)
        assert store.files.add(run, [self.file("b"), self.file("a", 2)], True, 60.0) == (["b"], ["a"])
        assert store.files.get(run, "a").size == 1

    def test_of_two_who_upload_one_name_one_wins(self, store: Store, run: str) -> None:
        def add(i: int) -> bool:
            try:
                store.files.add(run, [self.file(f"own-{i}"), self.file("same")], False, 50.0)
            except Conflict:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(add, range(8))) == 1
        assert len(store.files.list(run)) == 2

    @pytest.mark.parametrize("bad", ["", "/etc/passwd", "../x", "a/../b", "a//b", "./a", "a/", "a\0b", "x" * 256, "\ud800"])
    def test_a_path_that_leaves_the_run_is_refused(self, store: Store, run: str, bad: str) -> None:
        with pytest.raises(InvalidInput, match="cannot be the path"):
            store.files.add(run, [self.file(bad)], True, 50.0)
        with pytest.raises(InvalidInput, match="cannot be the path"):
            store.files.get(run, bad)
        with pytest.raises(InvalidInput, match="cannot be the path"):
            store.logs.append(run, bad, 0, b"x")

    def test_unknown_runs_and_files(self, store: Store, run: str) -> None:
        with pytest.raises(NotFound, match="'outputs/model.pt'"):
            store.files.get(run, "outputs/model.pt")
        with pytest.raises(NotFound, match="ghost"):
            store.files.list("ghost")


class LogTests(StorageFixtures):
    @pytest.fixture
    def run(self, store: Store) -> str:
        return store.runs.create(record("r-1"), "", []).id

    def test_a_log_grows_by_offset(self, store: Store, run: str) -> None:
        assert store.logs.append(run, "user_logs/std_log.txt", 0, b"hello ") == 6
        assert store.logs.append(run, "user_logs/std_log.txt", 6, b"world") == 11
        assert store.logs.append(run, "user_logs/std_log.txt", 6, b"world") == 11
        assert store.logs.append(run, "user_logs/std_log.txt", 3, b"lo world!") == 12
        assert store.logs.append(run, "user_logs/std_log.txt", 0, b"he") == 12
        assert store.logs.read(run, "user_logs/std_log.txt", 0, 100) == b"hello world!"
        assert store.logs.read(run, "user_logs/std_log.txt", 6, 5) == b"world"
        assert store.logs.read(run, "user_logs/std_log.txt", 99, 5) == b""

    def test_a_gap_is_refused_and_tells_the_size(self, store: Store, run: str) -> None:
        store.logs.append(run, "a", 0, b"123")
        with pytest.raises(Conflict, match="gap") as refused:
            store.logs.append(run, "a", 4, b"5")
        assert refused.value.details["size"] == 3
        assert store.logs.size(run, "a") == 3

    def test_a_log_that_has_not_begun_is_empty(self, store: Store, run: str) -> None:
        assert store.logs.read(run, "a/b", 0, 10) == b""
        assert store.logs.size(run, "a/b") == 0
        assert store.logs.list(run) == []

    def test_a_replaced_log_is_another_one(self, store: Store, run: str) -> None:
        store.logs.append(run, "a", 0, b"the old one, and long")
        assert store.logs.append(run, "a", 0, b"new", replace=True) == 3
        assert store.logs.append(run, "a", 3, b"er") == 5
        assert store.logs.append(run, "a", 2, b"xt", replace=True) == 4
        assert store.logs.read(run, "a", 0, 100) == b"next"
        assert store.logs.sizes(run) == {"a": 4}

    def test_logs_are_listed_with_their_sizes(self, store: Store, run: str) -> None:
        store.logs.append(run, "b/\udcff", 0, b"12")
        store.logs.append(run, "a", 0, b"")
        assert store.logs.sizes(run) == {"a": 0, "b/\udcff": 2}
        assert [f.digest for f in store.logs.list(run)] == [None, None]

    def test_a_file_is_not_a_folder(self, store: Store, run: str) -> None:
        store.logs.append(run, "a/b", 0, b"x")
        with pytest.raises(Conflict):
            store.logs.append(run, "a", 0, b"x")
        with pytest.raises(Conflict):
            store.logs.append(run, "a/b/c", 0, b"x")

    def test_an_unknown_run_reaches_no_file(self, store: Store, run: str) -> None:
        for ghost in ("ghost", "../../etc", "/etc", "a\0b", ""):
            with pytest.raises((NotFound, InvalidInput)):
                store.logs.append(ghost, "a", 0, b"x")
        assert [p.name for p in (store.home / "runs").iterdir()] == [] if (store.home / "runs").exists() else True

    def test_many_threads_send_the_same_log(self, store: Store, run: str) -> None:
        content = bytes(range(256)) * 400
        pieces = [(i, content[i : i + 1000]) for i in range(0, len(content), 700)]
        start = threading.Barrier(8)

        def send(_: int) -> None:
            start.wait()
            for offset, piece in pieces:
                store.logs.append(run, "a", offset, piece)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(send, range(8)))
        assert store.logs.read(run, "a", 0, len(content) * 2) == content


class MetricTests(StorageFixtures):
    @pytest.fixture
    def run(self, store: Store) -> str:
        return store.runs.create(record("r-1"), "", []).id

    def send(self, store: Store, writer: str, slots: bytes, words: bytes, system: bool = False) -> None:
        store.metrics.append("r-1", writer, "text", 0, words, system)
        store.metrics.append("r-1", writer, "slots", 0, slots, system)

    def test_every_kind_survives(self, store: Store, run: str, tmp_path: Path) -> None:
        def write(j: Journal) -> None:
            j.log("loss", 0.5, 1)
            j.log("loss", math.nan)
            j.log("loss", -math.inf)
            j.log("epoch", 2**40)
            j.log("huge", 2**200)
            j.log("word", ODD)
            j.log("flag", True)
            j.log("none", None)
            j.log_list("list", [1, 2.5, "x"])
            j.log_row("row", {"a": 1, "b": "x"})
            j.log_table("table", {"a": [1, 2]})
            j.log_artifact("image", "outputs/i.png", "image")

        self.send(store, "rank_0", *journal(tmp_path / "spool", write))
        read = {item["name"]: item for item in store.metrics.read(run)}
        assert list(read) == ["loss", "epoch", "huge", "word", "flag", "none", "list", "row", "table", "image"]
        values = {name: [point[2] for point in item["points"]] for name, item in read.items()}
        assert values["loss"][0] == 0.5 and math.isnan(values["loss"][1]) and values["loss"][2] == -math.inf
        assert [point[1] for point in read["loss"]["points"]] == [1.0, None, None]
        assert (values["epoch"], values["huge"], values["word"]) == ([2**40], [2**200], [ODD])
        assert (values["flag"], values["none"], values["list"]) == ([True], [None], [[1, 2.5, "x"]])
        assert (values["row"], values["table"]) == ([{"a": 1, "b": "x"}], [{"a": [1, 2]}])
        assert values["image"] == [{"path": "outputs/i.png", "type": "image"}]
        kinds = [item["kind"] for item in read.values()]
        assert kinds == ["scalar"] * 6 + ["list", "row", "table", "artifact"]
        assert store.metrics.read(run, "epoch") == [read["epoch"]]
        assert store.metrics.read(run, "never") == []

    def test_summaries(self, store: Store, run: str, tmp_path: Path) -> None:
        def write(j: Journal) -> None:
            for value in (3.0, math.nan, 1, -2.0, math.nan):
                j.log("loss", value)
            j.log("word", "x")
            j.log("high", math.inf)
            j.log_list("list", [1])

        self.send(store, "rank_0", *journal(tmp_path / "spool", write))
        summary = {item["name"]: item for item in store.metrics.summary(run)}
        loss = summary["loss"]
        assert (loss["count"], loss["min"], loss["max"], math.isnan(loss["last"])) == (5, -2.0, 3.0, True)
        assert (summary["word"]["last"], summary["word"]["min"]) == ("x", None)
        assert (summary["high"]["last"], summary["high"]["max"]) == (math.inf, math.inf)
        assert (summary["list"]["kind"], summary["list"]["count"], summary["list"]["last"]) == ("list", 1, None)

    def test_any_cut_of_the_stream_gives_the_same(self, store: Store, run: str, tmp_path: Path) -> None:
        def write(j: Journal) -> None:
            for i in range(100):
                j.log("loss", float(i))
                j.log(f"other-{i % 7}", i)
                j.log("word", str(i))

        slots, words = journal(tmp_path / "spool", write)
        store.metrics.append(run, "rank_0", "text", 0, words)
        at = 0
        for size in (1, 31, 32, 33, 500, 1000, 100_000):
            again = max(0, at - size // 2)  # each piece repeats a part of the one before
            assert store.metrics.append(run, "rank_0", "slots", again, slots[again : at + size]) == min(at + size, len(slots))
            at = min(at + size, len(slots))
        assert store.metrics.append(run, "rank_0", "slots", 0, slots) == len(slots)
        summary = {item["name"]: item for item in store.metrics.summary(run)}
        assert (summary["loss"]["count"], summary["loss"]["last"], summary["word"]["last"]) == (100, 99.0, "99")
        assert sum(summary[f"other-{i}"]["count"] for i in range(7)) == 100
        assert [p[2] for p in store.metrics.read(run, "loss")[0]["points"]] == [float(i) for i in range(100)]
        assert store.metrics.sizes(run) == {"rank_0.slots": len(slots), "rank_0.text": len(words)}

    def test_a_gap_is_refused_and_so_is_another_past(self, store: Store, run: str, tmp_path: Path) -> None:
        slots, words = journal(tmp_path / "spool", lambda j: j.log("loss", 1.0))
        with pytest.raises(Conflict, match="gap") as refused:
            store.metrics.append(run, "rank_0", "slots", 32, slots)
        assert refused.value.details["size"] == 0
        self.send(store, "rank_0", slots, words)
        with pytest.raises(Conflict, match="differs"):
            store.metrics.append(run, "rank_0", "slots", 0, bytes(len(slots)))

    def test_the_first_kind_of_a_name_wins(self, store: Store, run: str, tmp_path: Path) -> None:
        def write(j: Journal) -> None:
            j.log("mixed", 1.0)
            j.log_list("mixed", [1, 2])
            j.log("mixed", "still a scalar")
            j.log_row("mixed", {"a": 1})

        slots, words = journal(tmp_path / "spool", write)
        store.metrics.append(run, "rank_0", "text", 0, words)
        store.metrics.append(run, "rank_0", "slots", 0, slots[:-32])
        store.metrics.append(run, "rank_0", "slots", len(slots) - 32, slots[-32:])
        (mixed,) = store.metrics.read(run)
        assert [p[2] for p in mixed["points"]] == [1.0, "still a scalar"]
        assert (mixed["kind"], mixed["dropped"]) == ("scalar", 2)
        assert store.metrics.summary(run)[0]["count"] == 2

    def test_ranks_are_merged_by_time(self, store: Store, run: str, tmp_path: Path) -> None:
        with Journal(str(tmp_path / "s"), "rank_0") as one, Journal(str(tmp_path / "s"), "rank_1") as two:
            for i in range(50):
                one.log("loss", float(i))
                two.log("loss", 1000.0 + i)
        for writer in ("rank_0", "rank_1"):
            base = tmp_path / "s" / writer
            self.send(store, writer, base.with_suffix(".slots").read_bytes(), base.with_suffix(".text").read_bytes())
        (loss,) = store.metrics.read(run)
        times, values = [p[0] for p in loss["points"]], [p[2] for p in loss["points"]]
        assert times == sorted(times)
        assert [v for v in values if v < 1000] == [float(i) for i in range(50)]
        assert [v for v in values if v >= 1000] == [1000.0 + i for i in range(50)]
        summary = store.metrics.summary(run)[0]
        assert (summary["count"], summary["min"], summary["max"], summary["last"]) == (100, 0.0, 1049.0, 1049.0)

    def test_machine_samples_are_kept_apart(self, store: Store, run: str, tmp_path: Path) -> None:
        self.send(store, "rank_0", *journal(tmp_path / "a", lambda j: j.log("cpu", 1.0)))
        self.send(store, "node_0", *journal(tmp_path / "b", lambda j: j.log("cpu", 2.0), "node_0"), system=True)
        assert [p[2] for p in store.metrics.read(run)[0]["points"]] == [1.0]
        assert [p[2] for p in store.metrics.read(run, system=True)[0]["points"]] == [2.0]
        assert [(s["name"], s["system"]) for s in store.metrics.summary(run)] == [("cpu", False), ("cpu", True)]
        assert ids(store.runs.list(RunQuery(WORKSPACE, metric="cpu", metric_min=1.5))) == []

    def test_many_writers_at_once(self, store: Store, run: str, tmp_path: Path) -> None:
        def write(j: Journal) -> None:
            for i in range(200):
                j.log("loss", float(i))
                j.log(f"own-{j.writer}", i)

        made = {f"rank_{i}": journal(tmp_path / "s", write, f"rank_{i}") for i in range(8)}

        def send(writer: str) -> None:
            slots, words = made[writer]
            store.metrics.append(run, writer, "text", 0, words)
            for at in range(0, len(slots), 1024):
                store.metrics.append(run, writer, "slots", at, slots[at : at + 1024])

        with ThreadPoolExecutor(16) as pool:
            list(pool.map(send, [*made, *made]))
        summary = {item["name"]: item["count"] for item in store.metrics.summary(run)}
        assert summary == {"loss": 1600} | {f"own-rank_{i}": 200 for i in range(8)}

    def test_holes_and_nonsense_do_not_stop_the_rest(self, store: Store, run: str, tmp_path: Path) -> None:
        slots, words = journal(tmp_path / "s", lambda j: (j.log("loss", 1.0), j.log("word", "x"))[0])
        hole, unknown_series = bytes(32), slots[32:56] + b"\x63\0\0\0" + slots[60:64]
        lost_text = b"\xff\xff\xff\x7f\xff\xff\xff\x7f" + slots[-32:][8:]
        bad = slots + hole + unknown_series + lost_text + slots[32:64]
        self.send(store, "rank_0", bad, words)
        summary = {item["name"]: item["count"] for item in store.metrics.summary(run)}
        assert summary == {"loss": 2, "word": 1}
        assert [len(item["points"]) for item in store.metrics.read(run)] == [2, 1]

    def test_names_that_no_database_keeps_are_mended(self, store: Store, run: str, tmp_path: Path) -> None:
        self.send(store, "rank_0", *journal(tmp_path / "s", lambda j: (j.log("a\0b\ud800", 1.0), j.log("n" * 9999, 2.0))[0]))
        assert [(s["name"][:3], s["count"]) for s in store.metrics.summary(run)] == [("a\ufffdb", 1), ("nnn", 1)]
        assert [[p[2] for p in item["points"]] for item in store.metrics.read(run)] == [[1.0], [2.0]]

    @pytest.mark.parametrize("bad", ["", "../x", "a/b", ".x", "a\0", "a..b", "x" * 129])
    def test_a_writer_that_would_be_a_path_is_refused(self, store: Store, run: str, bad: str) -> None:
        with pytest.raises(InvalidInput, match="writer"):
            store.metrics.append(run, bad, "slots", 0, b"")
        with pytest.raises(InvalidInput, match="stream"):
            store.metrics.append(run, "rank_0", "other", 0, b"")
        with pytest.raises(NotFound):
            store.metrics.append("ghost", "rank_0", "slots", 0, b"")

    def test_what_was_written_and_not_ingested_is_ingested_at_the_next_start(
        self, store: Store, run: str, tmp_path: Path, open_store: Callable[[], Store]
    ) -> None:
        slots, words = journal(tmp_path / "s", lambda j: [j.log("loss", float(i)) for i in range(10)][0])
        store.metrics.append(run, "rank_0", "text", 0, words)
        store.metrics.append(run, "rank_0", "slots", 0, slots[:96])
        file = store.home / "runs" / run / "journals" / "rank_0.slots"
        with file.open("ab") as opened:  # as a server that is killed right after the write leaves it
            opened.write(slots[96:200])
        again = open_store()
        with again.database.read() as connection:
            assert connection.execute(text("SELECT ingested FROM journals")).scalar() == 192
        assert again.metrics.append(run, "rank_0", "slots", 200, slots[200:]) == len(slots)
        assert again.metrics.summary(run)[0]["count"] == 10


class RegistryTests(StorageFixtures):
    def model(self, name: str = "net", **more: Any) -> ModelView:
        files = (FileView("net.pt", 3, "ab" * 32), FileView(ODD, 0, "cd" * 32))
        return ModelView(WORKSPACE, name, 0, 10.0, "net.pt", files, **more)

    def test_versions_count_up_and_are_never_given_again(self, store: Store) -> None:
        assert [store.models.add(f"k-{i}", self.model()).version for i in range(3)] == [1, 2, 3]
        store.models.delete(WORKSPACE, "net", 3)
        assert store.models.get(WORKSPACE, "net").version == 2
        assert store.models.add("k-9", self.model()).version == 4
        assert store.models.add("k-10", self.model("other")).version == 1
        with pytest.raises(NotFound, match="version 3 of model 'net'"):
            store.models.get(WORKSPACE, "net", 3)
        with pytest.raises(NotFound):
            store.models.delete(WORKSPACE, "net", 3)

    def test_the_same_key_gives_the_same_model(self, store: Store) -> None:
        asked = self.model(tags={"a": None}, properties={"p": "1"}, resources={"cpu": 1.5}, options={"x": [1]})
        first = store.models.add("key", asked)
        assert store.models.add("key", asked) == first == replace(asked, version=1)
        assert store.models.get(WORKSPACE, "net", 1) == first
        with ThreadPoolExecutor(8) as pool:
            again = list(pool.map(lambda _: store.models.add("twin", asked).version, range(8)))
        assert set(again) == {2}
        assert store.models.add("next", asked).version == 3

    def test_models_are_found(self, store: Store) -> None:
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

    def test_a_model_changes_like_a_run(self, store: Store) -> None:
        store.models.add("1", self.model(tags={"a": "1"}, properties={"p": "1"}))
        store.models.change(WORKSPACE, "net", 1, description="better", tags={"b": None}, remove_tags=["a"])
        store.models.change(WORKSPACE, "net", 1, properties={"p": "1", "q": "2"})
        with pytest.raises(Conflict, match="'p' is '1' and cannot become '2'"):
            store.models.change(WORKSPACE, "net", 1, properties={"p": "2"})
        model = store.models.get(WORKSPACE, "net", 1)
        assert (model.description, model.tags, model.properties) == ("better", {"b": None}, {"p": "1", "q": "2"})

    def test_compute_targets(self, store: Store) -> None:
        view = ComputeView("big", WORKSPACE, "local", 4, 10.0, 10.0, options={"vm": "x"})
        store.computes.put(view, replace=False)
        with pytest.raises(Conflict, match="'big' exists"):
            store.computes.put(view, replace=False)
        store.computes.put(replace(view, max_nodes=2, created=99.0, modified=20.0), replace=True)
        assert store.computes.get(WORKSPACE, "big") == replace(view, max_nodes=2, modified=20.0)
        assert store.computes.change(WORKSPACE, "big", state="Failed").state == "Failed"
        assert [c.name for c in store.computes.list(WORKSPACE)] == ["big"]
        store.computes.delete(WORKSPACE, "big")
        for gone in (store.computes.get, store.computes.delete, lambda w, n: store.computes.change(w, n, state="x")):
            with pytest.raises(NotFound, match="'big'"):
                gone(WORKSPACE, "big")

    def test_environments_keep_their_version_while_they_are_the_same(self, store: Store) -> None:
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

    def test_locks_and_tokens(self, store: Store) -> None:
        lock = Lock("ab" * 32, "venv", {"requirements": [ODD]}, ("old",))
        store.locks.put(lock)
        store.locks.put(lock)
        assert store.locks.get(lock.digest) == lock
        with pytest.raises(NotFound):
            store.locks.get("no")
        store.tokens.put("h-1", "run:r-1", 9e9)
        store.tokens.put("h-2", "admin", 1.0)
        assert (store.tokens.find("h-1"), store.tokens.find("h-2"), store.tokens.find("h-3")) == ("run:r-1", None, None)


class LifeTests(StorageFixtures):
    def test_a_restart_finds_everything(self, store: Store, tmp_path: Path, open_store: Callable[[], Store]) -> None:
        view = store.runs.create(record("r-1", tags={"a": "1"}), "ann", [line(1)])
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

    def test_forty_threads_read_and_write(self, store: Store) -> None:
        def work(i: int) -> int:
            store.runs.create(record(f"r-{i}"), "", [line(1)])
            store.runs.save(replace(record(f"r-{i}"), version=1), 0, [line(2)])
            store.logs.append(f"r-{i}", "a", 0, b"x" * i)
            store.runs.change(f"r-{i}", tags={"n": str(i)})
            return len(store.runs.list(RunQuery(WORKSPACE))[0]) and len(store.runs.story(f"r-{i}"))

        with ThreadPoolExecutor(40) as pool:
            assert list(pool.map(work, range(120))) == [2] * 120
        assert ids(store.runs.list(RunQuery(WORKSPACE, tags=(("n", "77"),)))) == ["r-77"]

    def test_a_fresh_database_equals_a_migrated_one(self, tmp_path: Path, open_store: Callable[[], Store]) -> None:
        """The tables as `schema` makes them, and as the revisions do, in the same database one after the other."""
        store = open_store()
        made = _shape(store.database)
        with store.database.write() as connection:
            for table in reversed(migrate.metadata.sorted_tables):
                table.drop(connection)
            connection.execute(text("DELETE FROM alembic_version"))
        migrate.upgrade(store.database, migrate.HEAD)
        assert _shape(store.database) == made
        with store.database.read() as connection:
            assert migrate.revision_of(connection) == migrate.HEAD

    def test_a_database_of_a_newer_program_is_left_alone(self, store: Store, open_store: Callable[[], Store]) -> None:
        with store.database.write() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        with pytest.raises(Conflict, match="newer Footplate") as refused:
            open_store()
        assert "upgrade" in str(refused.value.hint)


def _shape(database: Database) -> dict[str, Any]:
    """Everything about the tables that the database itself can tell, in an order that does not matter."""
    with database.read() as connection:
        about = inspect(connection)
        return {
            table: {
                "columns": [(c["name"], str(c["type"]), c["nullable"]) for c in about.get_columns(table)],
                "key": about.get_pk_constraint(table),
                "unique": sorted((str(u["name"]), u["column_names"]) for u in about.get_unique_constraints(table)),
                "indexes": sorted((str(i["name"]), i["column_names"]) for i in about.get_indexes(table)),
                "foreign": sorted(
                    (str(f["name"]), f["constrained_columns"], f["referred_table"], str(f["options"]))
                    for f in about.get_foreign_keys(table)
                ),
            }
            for table in about.get_table_names()
        }


class StorageSuite(
    WorkspaceTests, RunTests, RunListTests, FileTests, LogTests, MetricTests, RegistryTests, LifeTests
):  # fmt: skip
    """All of it."""
