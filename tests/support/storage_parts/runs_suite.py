"""Conformance of runs: records, histories, labels, and queries."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from footplate.domain.orders import Cause, Program
from footplate.domain.records import NodeRecord, NodeState, Outcome, RunView, Stage, StoryLine, Waiting
from footplate.domain.replies import FieldName, FieldValue, MetricSpread, RunCount
from footplate.domain.runs import run_status
from footplate.domain.scaling import Stay
from footplate.domain.specs import Distribution
from footplate.errors import Conflict, InvalidInput, NotFound
from footplate.storage import RunQuery, Storage
from footplate.storage.queries.run_query import find
from support.storage_parts.fixtures import (
    ODD,
    WORKSPACE,
    StorageFixtures,
    created,
    ids,
    journal,
    line,
    log_all,
    record,
    workspace,
)


class RunTests(StorageFixtures):
    def test_a_run_is_returned_as_it_was_stored(self, store: Storage) -> None:
        asked = record(
            "r-1", tags={"a": "1", "b": None, ODD: ODD}, properties={"p": ODD}, display_name="Run one",
            description=ODD, snapshot="ab" * 32, type="azureml.scriptrun", name="one",
            definition={"deep": [1, 2.5, None, {"é": "\x00", "nan": "NaN"}]}, distribution=Distribution(node_count=3),
        )  # fmt: skip
        view = created(store, asked, "ann", [line(1)])
        assert store.runs.record("r-1") == asked
        assert (view.experiment, view.number, view.status, view.created_by) == ("steam", 1, "Preparing", "ann")
        assert (view.tags, view.properties) == ({"a": "1", "b": None, ODD: ODD}, {"p": ODD})
        assert (view.spec, view.snapshot, view.display_name) == (asked.spec, "ab" * 32, "Run one")
        assert store.experiments.get(view.experiment_id).name == "steam"

    def test_filters_select_runs_by_every_field(self, store: Storage, tmp_path: Path) -> None:
        for id, rate, loss, tags in (
            ("r-1", "0.1", 0.5, {"fold": "1", "model": "Large"}),
            ("r-2", "0.01", 0.2, {"fold": "2", "model": "small"}),
            ("r-3", "auto", None, {}),
        ):
            made = record(id, tags=tags, display_name=f"run {id}", description="100% done")
            program = Program("train.py", ("--lr", rate, "--fast"))
            made = replace(made, spec=replace(made.spec, program=program), started=200.0, ended=260.0)
            assert created(store, made, "ann").parameters == {"lr": rate, "fast": "true"}
            if loss is not None:
                slots, words = journal(tmp_path / "spool" / id, lambda j, loss=loss: log_all(j, [loss + 1, loss]))
                store.metrics.append(id, "rank_0", "text", 0, words)
                store.metrics.append(id, "rank_0", "slots", 0, slots)
        everything = ["r-1", "r-2", "r-3"]
        for where, expected in {
            "metrics.loss < 0.3": ["r-2"],
            "metrics.loss <= 0.5 and params.lr > 0.05": ["r-1"],
            "max(metrics.loss) > 1.4": ["r-1"],
            "metrics.loss": ["r-1", "r-2"],
            "not metrics.loss < 0.3": ["r-1", "r-3"],
            "metrics.loss != 0.5": ["r-2"],
            "params.lr == 0.10 or params.lr == auto": ["r-1", "r-3"],
            "params.fast == true": everything,
            "tags.fold >= 2": ["r-2"],
            "tags.model ~ large": ["r-1"],
            "tags.model != small": ["r-1"],
            "not tags.model == small": ["r-1", "r-3"],
            "properties.p": [],
            "status == Preparing and experiment == steam": everything,
            "status in (Failed, Canceled)": [],
            "name == 'run r-3'": ["r-3"],
            "note ~ '0% d'": everything,
            "note ~ '0_ d'": [],
            "by == ann and id ~ R-2": ["r-2"],
            "created < 101 and started == 200": everything,
            "duration == 1m": everything,
            "ended > now": [],
            "number > 1 and attempt == 1": ["r-2", "r-3"],
        }.items():
            assert ids(store.runs.list(RunQuery(WORKSPACE, where=where, ascending=True))) == expected, where
        sorted_by_loss, _ = store.runs.list(RunQuery(WORKSPACE, where="tags.fold", order="metric:loss", show=("*",)))
        assert [view.metrics for view in sorted_by_loss] == [{"loss": 0.5}, {"loss": 0.2}]

    def test_archived_runs_are_hidden_until_they_are_restored(self, store: Storage) -> None:
        for id in ("r-1", "r-2"):
            store.runs.create(record(id), "ann", [])
        store.runs.change("r-1", archived=5.0)
        assert store.runs.view("r-1").archived == 5.0
        assert ids(store.runs.list(RunQuery(WORKSPACE, archived=False))) == ["r-2"]
        assert ids(store.runs.list(RunQuery(WORKSPACE, archived=True))) == ["r-1"]
        store.runs.change("r-1", archived=0.0)
        assert store.runs.view("r-1").archived is None

    def test_a_run_id_is_used_once(self, store: Storage) -> None:
        store.runs.create(record("r-1"), "ann", [])
        with pytest.raises(Conflict, match="'r-1' exists"):
            store.runs.create(record("r-1", "other"), "ann", [])
        assert [e.name for e in store.experiments.list(WORKSPACE)] == ["steam"]

    @pytest.mark.parametrize("bad", ["../x", "a/b", "", ".hidden", "a..b", "x" * 256, "a\0b", "a\n"])
    def test_an_id_that_would_be_a_path_is_refused(self, store: Storage, bad: str) -> None:
        with pytest.raises(InvalidInput, match="is not a run id"):
            store.runs.create(record(bad), "ann", [])

    def test_run_numbers_of_an_experiment_have_no_gaps(self, store: Storage) -> None:
        numbers = [created(store, record(f"r-{i}", "ab"[i % 2])).number for i in range(6)]
        assert numbers == [1, 1, 2, 2, 3, 3]

    def test_forty_threads_get_forty_run_numbers(self, store: Storage) -> None:
        def create(i: int) -> RunView:
            return created(store, record(f"r-{i}"), "", [line(1)])

        with ThreadPoolExecutor(40) as pool:
            views = list(pool.map(create, range(80)))
        assert sorted(view.number for view in views) == list(range(1, 81))

    def test_save_is_compare_and_set(self, store: Storage) -> None:
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
        assert store.runs.view("r-1").status == run_status.status(ended) == "Failed"
        assert [s.seq for s in store.runs.story("r-1")] == [1, 2, 3]
        with pytest.raises(NotFound, match="r-9"):
            store.runs.save(replace(ended, id="r-9"), 1, [])

    def test_a_run_knows_its_workspace_and_experiment(self, store: Storage) -> None:
        view, home = created(store, record("r-1")), store.runs.home("r-1")
        known = store.workspaces.get(WORKSPACE)
        assert (home.experiment_id, home.workspace_id, home.workspace) == (view.experiment_id, WORKSPACE, known.name)
        assert (home.subscription_id, home.resource_group) == (known.subscription_id, known.resource_group)
        with pytest.raises(NotFound, match="r-9"):
            store.runs.home("r-9")

    def test_lines_of_another_server_come_before_ours(self, store: Storage, open_store: Callable[[], Storage]) -> None:
        first = record("r-1")
        store.runs.create(first, "", [line(1)])
        other = open_store()
        assert other.runs.save(replace(first, version=1), 0, [line(1), line(1)])
        assert not store.runs.save(replace(first, version=1), 0, [line(2)])
        assert store.runs.save(replace(first, version=2), 1, [line(2)])
        assert [told.seq for told in store.runs.story("r-1")] == [1, 2, 3, 4]

    def test_one_of_many_concurrent_saves_wins(self, store: Storage) -> None:
        first = record("r-1")
        store.runs.create(first, "", [])

        def save(i: int) -> bool:
            return store.runs.save(replace(first, version=1), 0, [line(i)])

        with ThreadPoolExecutor(20) as pool:
            won = list(pool.map(save, range(20)))
        assert sum(won) == 1
        assert len(store.runs.story("r-1")) == 1

    def test_the_history_is_in_order(self, store: Storage) -> None:
        told = [line(1, ODD), line(2), line(3)]
        store.runs.create(record("r-1"), "", told[:1])
        store.runs.save(replace(record("r-1"), version=1), 0, told[1:])
        assert store.runs.story("r-1") == told

    def test_the_active_runs_and_the_busy_nodes_of_a_target(self, store: Storage) -> None:
        two = Distribution("torch", node_count=2)
        store.runs.create(record("waits", stage=Stage.QUEUED, target="big"), "", [])
        store.runs.create(record("waits-too", stage=Stage.QUEUED, target="big"), "", [])
        store.runs.create(record("elsewhere", stage=Stage.QUEUED, target="small"), "", [])
        store.runs.create(record("runs", stage=Stage.RUNNING, target="big", distribution=two), "", [])
        store.runs.create(record("ends", stage=Stage.FINALIZING, target="big"), "", [])
        store.runs.create(record("own", stage=Stage.RUNNING, target="big", kind="interactive"), "", [])
        over = replace(record("over", stage=Stage.ENDED, target="big"), outcome=Outcome("completed"))
        store.runs.create(over, "", [])
        assert store.runs.busy_nodes(WORKSPACE, "big") == 3
        assert store.runs.busy_nodes(WORKSPACE, "nowhere") == 0
        assert {r.id for r in store.runs.active()} == {"waits", "waits-too", "elsewhere", "runs", "ends", "own"}
        assert {r.id for r in store.runs.active(with_nodes=True)} == {"waits", "waits-too", "elsewhere", "runs", "ends"}

    def test_stays_of_runs_on_a_target(self, store: Storage) -> None:
        def told(seq: int, event: str, status: str = "Running") -> StoryLine:
            return StoryLine(seq, 10.0 * seq, event, status, "")

        two = Distribution("torch", node_count=2)
        nodes = (NodeRecord(0, NodeState.LAUNCHED), NodeRecord(1, NodeState.RUNNING))
        runs = record("runs", stage=Stage.PREPARING, target="big", distribution=two)
        store.runs.create(replace(runs, nodes=nodes), "", [told(1, "RunSubmitted"), told(2, "RunAdmitted")])
        ended = replace(record("over", stage=Stage.ENDED, target="big"), ended=50.0, outcome=Outcome("failed"))
        over = replace(ended, attempt=2)
        again = [
            told(1, "RunAdmitted"),
            told(2, "NodeFinished", "Failed"),
            told(3, "RunRestarted", "Queued"),
            told(3, "AttemptStarted"),
        ]
        store.runs.create(
            over,
            "",
            [*again, told(5, "RunAdmitted"), told(6, "NodeFinished", "Failed"), told(7, "WarningAdded", "Failed")],
        )
        store.runs.create(record("waits", stage=Stage.QUEUED, target="big"), "", [told(1, "RunSubmitted", "Queued")])
        store.runs.create(record("other", stage=Stage.RUNNING, target="small"), "", [told(1, "RunAdmitted")])
        store.runs.create(
            replace(ended, id="once", ended=55.0), "", [told(4, "RunAdmitted"), told(5, "NodeFinished", "Failed")]
        )
        current, repeated = Stay(2, 20.0, coming=1, running=1), [Stay(1, 10.0, 20.0), Stay(1, 50.0, 60.0)]
        assert store.runs.stays(WORKSPACE, "big", 49.0) == [Stay(1, 40.0, 55.0), current, *repeated]
        assert store.runs.stays(WORKSPACE, "big", 50.0) == [Stay(1, 40.0, 55.0), current]
        assert store.runs.stays(WORKSPACE, "big", 55.0) == [current]

    def test_tags_can_be_set_and_removed(self, store: Storage) -> None:
        store.runs.create(record("r-1", tags={"a": "1", "b": "2"}), "", [])
        store.runs.change("r-1", tags={"a": "new", ODD: None}, remove_tags=["b", "never-there"])
        assert store.runs.view("r-1").tags == {"a": "new", ODD: None}
        store.runs.change("r-1", display_name="shown", description="told")
        view = store.runs.view("r-1")
        assert (view.display_name, view.description, view.tags["a"]) == ("shown", "told", "new")

    def test_a_property_is_written_once(self, store: Storage) -> None:
        store.runs.create(record("r-1", properties={"p": "1"}), "", [])
        store.runs.change("r-1", properties={"p": "1", "q": "2"})
        with pytest.raises(Conflict, match="'p' is '1' and cannot become '9'"):
            store.runs.change("r-1", display_name="no", tags={"t": "no"}, properties={"r": "3", "p": "9"})
        view = store.runs.view("r-1")
        assert (view.properties, view.tags, view.display_name) == ({"p": "1", "q": "2"}, {}, None)

    def test_a_parameter_can_be_set_again(self, store: Storage) -> None:
        program = Program("train.py", ("--lr", "1e-3", "--epochs", "2"))
        made = record("r-1")
        store.runs.create(replace(made, spec=replace(made.spec, program=program)), "", [])
        store.runs.change("r-1", parameters={"lr": "0.001", "depth": "4"})
        assert store.runs.view("r-1").parameters == {"lr": "0.001", "epochs": "2", "depth": "4"}

    def test_a_snapshot_is_taken_once(self, store: Storage) -> None:
        store.runs.create(record("r-1"), "", [])
        store.runs.set_snapshot("r-1", "ab" * 32)
        assert store.runs.view("r-1").snapshot == "ab" * 32
        with pytest.raises(Conflict, match="has a snapshot"):
            store.runs.set_snapshot("r-1", "cd" * 32)

    def test_text_that_no_database_accepts_is_refused(self, store: Storage) -> None:
        store.runs.create(record("r-1"), "", [])
        for bad in ("a\0b", "\ud800"):
            with pytest.raises(InvalidInput, match=r"NUL|Unicode"):
                store.runs.change("r-1", tags={"fine": "yes", "bad": bad})
        assert store.runs.view("r-1").tags == {}

    def test_a_long_value_is_stored_and_found(self, store: Storage) -> None:
        long = "x" * 100_000
        store.runs.create(record("r-1", tags={"note": long}), "", [])
        store.runs.create(record("r-2", tags={"note": long + "y"}), "", [])
        assert ids(store.runs.list(RunQuery(WORKSPACE, tags=(("note", long),)))) == ["r-1"]
        with pytest.raises(InvalidInput, match="cannot name a tag"):
            store.runs.change("r-1", tags={"k" * 256: ""})

    def test_a_child_needs_its_parent(self, store: Storage) -> None:
        with pytest.raises(NotFound, match="ghost"):
            store.runs.create(record("r-1", parent="ghost"), "", [])
        store.workspaces.create(workspace("w-2", "ships"))
        store.runs.create(record("r-1"), "", [])
        with pytest.raises(InvalidInput, match="another workspace"):
            store.runs.create(replace(record("r-2", parent="r-1"), workspace="w-2"), "", [])

    def test_views_keep_the_order_of_the_ids(self, store: Storage) -> None:
        for i in range(3):
            store.runs.create(record(f"r-{i}"), "", [])
        assert [v.id for v in store.runs.views(["r-2", "ghost", "r-0"])] == ["r-2", "r-0"]


class RunListTests(StorageFixtures):
    @pytest.fixture
    def many(self, store: Storage, tmp_path: Path) -> Storage:
        """Create twelve runs: r-0 … r-11, a family below r-0, two experiments, several states and metrics."""
        for i in range(12):
            stage = Stage.ENDED if i % 3 == 0 else Stage.RUNNING
            new = record(
                f"r-{i}", "steam" if i < 8 else "diesel", stage, type="typed" if i == 4 else None,
                tags={"even": str(i % 2 == 0), "nth": str(i)}, properties={"third": str(i % 3)},
                parent={1: "r-0", 2: "r-1"}.get(i),
            )  # fmt: skip
            store.runs.create(replace(new, outcome=Outcome("completed") if i % 3 == 0 else None), "", [])
        values = {0: math.nan, 3: 0.5, 4: 1.5, 5: math.nan, 6: -math.inf, 7: math.inf, 9: 2.5, 10: 1.5}
        for i, value in values.items():
            self.log(store, tmp_path, f"r-{i}", value)
        return store

    def log(self, store: Storage, tmp_path: Path, run: str, value: float) -> None:
        slots, words = journal(tmp_path / "spool" / run, lambda j: log_all(j, [7.0, value]))
        store.metrics.append(run, "rank_0", "text", 0, words)
        store.metrics.append(run, "rank_0", "slots", 0, slots)

    def test_a_list_is_newest_first_top_level_without_specs(self, many: Storage) -> None:
        page = many.runs.list(RunQuery(WORKSPACE))
        assert ids(page) == ["r-11", "r-10", "r-9", "r-8", "r-7", "r-6", "r-5", "r-4", "r-3", "r-0"]
        assert all(view.spec is None for view in page[0])
        assert page[1] is None
        assert page[0][0].tags == {"even": "False", "nth": "11"}
        assert ids(many.runs.list(RunQuery(WORKSPACE, ascending=True, limit=2))) == ["r-0", "r-3"]
        assert many.runs.list(RunQuery("w-9")) == ([], None)

    def test_filters(self, many: Storage) -> None:
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

    def test_runs_are_found_by_the_beginning_of_their_id(self, store: Storage) -> None:
        for id in ("a", "a-1", "a-12", "A-1", "a_1", "a.1", "b", "a-z"):
            store.runs.create(record(id), "", [])

        def found(prefix: str, **query: Any) -> list[str]:
            return ids(store.runs.list(RunQuery(WORKSPACE, prefix=prefix, **query)))

        assert found("a-") == ["a-z", "a-12", "a-1"]
        assert found("a-1") == ["a-12", "a-1"]
        assert found("a", ascending=True, limit=3) == ["a", "a-1", "a-12"]
        assert found("a-1", experiment="elsewhere") == []
        assert len(found("")) == 8
        assert found("é") == found("%") == found("a%") == []
        assert ids(store.runs.list(RunQuery("w-9", prefix="a"))) == []

    def test_runs_are_found_by_parent_and_ancestor(self, many: Storage) -> None:
        assert ids(many.runs.list(RunQuery(WORKSPACE, parent="r-0"))) == ["r-1"]
        assert ids(many.runs.list(RunQuery(WORKSPACE, parent="ghost"))) == []
        assert ids(many.runs.list(RunQuery(WORKSPACE, ancestor="r-0"))) == ["r-2", "r-1"]
        assert ids(many.runs.list(RunQuery(WORKSPACE, parent="any", ancestor="r-0", status=("Running",)))) == [
            "r-2",
            "r-1",
        ]
        assert len(ids(many.runs.list(RunQuery(WORKSPACE, parent="any")))) == 12
        assert [v.id for v in many.runs.children("r-0")] == ["r-1"]
        assert [v.id for v in many.runs.children("r-0", recursive=True)] == ["r-1", "r-2"]
        assert many.runs.view("r-2").parent == "r-1"

    def test_metric_bounds_apply_to_the_last_value(self, many: Storage) -> None:
        def found(**query: Any) -> list[str]:
            return ids(many.runs.list(RunQuery(WORKSPACE, metric="loss", **query)))

        assert found() == ["r-10", "r-9", "r-7", "r-6", "r-5", "r-4", "r-3", "r-0"]
        assert found(metric_min=1.5) == ["r-10", "r-9", "r-7", "r-4"]
        assert found(metric_max=1.5) == ["r-10", "r-6", "r-4", "r-3"]
        assert found(metric_min=1.0, metric_max=2.0, experiment="steam") == ["r-4"]
        assert ids(many.runs.list(RunQuery(WORKSPACE, metric="never"))) == []

    def test_a_list_shows_the_metrics_of_its_query(self, many: Storage) -> None:
        page, _ = many.runs.list(RunQuery(WORKSPACE, metric="loss", metric_min=1.5, order="metric:loss"))
        assert [v.metrics for v in page] == [{"loss": math.inf}, {"loss": 2.5}, {"loss": 1.5}, {"loss": 1.5}]
        page, _ = many.runs.list(RunQuery(WORKSPACE, "steam", order="metric:loss"))
        assert math.isnan(page[-1].metrics["loss"])
        assert all(v.metrics == {} for v in many.runs.list(RunQuery(WORKSPACE))[0])

    def test_order_by_metric_puts_nan_last_both_ways(self, many: Storage) -> None:
        def found(**query: Any) -> list[str]:
            return ids(many.runs.list(RunQuery(WORKSPACE, order="metric:loss", **query)))

        assert found(metric="loss") == ["r-7", "r-9", "r-10", "r-4", "r-3", "r-6", "r-5", "r-0"]
        assert found(metric="loss", ascending=True) == ["r-6", "r-3", "r-4", "r-10", "r-9", "r-7", "r-0", "r-5"]
        assert found(experiment="steam", status=("Running",)) == ["r-7", "r-4", "r-5"]
        assert found(metric="loss", metric_min=1.0) == ["r-7", "r-9", "r-10", "r-4"]
        assert found(tags=(("even", "True"),)) == ["r-10", "r-4", "r-6", "r-0", "r-8"]

    def test_runs_without_the_value_come_last_both_ways(self, many: Storage) -> None:
        def found(**query: Any) -> list[str]:
            return ids(many.runs.list(RunQuery(WORKSPACE, order="metrics.loss", **query)))

        assert found() == ["r-7", "r-9", "r-10", "r-4", "r-3", "r-6", "r-5", "r-0", "r-11", "r-8"]
        assert found(ascending=True) == ["r-6", "r-3", "r-4", "r-10", "r-9", "r-7", "r-0", "r-5", "r-8", "r-11"]
        assert found(where="metrics.loss < 2") == ["r-10", "r-4", "r-3", "r-6"]
        assert found(where="metrics.loss") == ["r-7", "r-9", "r-10", "r-4", "r-3", "r-6", "r-5", "r-0"]

    def test_runs_are_sorted_by_any_field(self, many: Storage) -> None:
        def found(order: str, **query: Any) -> list[str]:
            return ids(many.runs.list(RunQuery(WORKSPACE, order=order, **query)))

        for id, value in (("r-4", "10"), ("r-7", "9.5"), ("r-9", "1e1"), ("r-3", "big"), ("r-0", "a")):
            many.runs.change(id, parameters={"size": value})
        many.runs.change("r-5", tags={"bare": None})
        assert found("params.size")[:6] == ["r-9", "r-4", "r-7", "r-3", "r-0", "r-11"]
        assert found("params.size", ascending=True)[:6] == ["r-7", "r-4", "r-9", "r-0", "r-3", "r-5"]
        assert found('tags."nth"', limit=3) == ["r-11", "r-10", "r-9"]
        assert found("tags.bare", limit=2) == ["r-5", "r-11"]
        assert found("min(metrics.loss)", limit=4) == ["r-7", "r-5", "r-0", "r-9"]
        assert found("best(metrics.loss)", ascending=True, limit=2) == ["r-6", "r-3"]
        assert found("best(metrics.loss)", limit=2) == ["r-7", "r-10"]
        assert found("ended", limit=2) == found("created", limit=2) == ["r-11", "r-10"]
        view = next(v for v in many.runs.list(RunQuery(WORKSPACE, show=("loss",)))[0] if v.id == "r-9")
        assert (view.metrics, view.ranges) == ({"loss": 2.5}, {"loss": (2.5, 7.0)})

    def test_names_and_values_of_fields_are_completed(self, many: Storage) -> None:
        names = many.run_fields.names
        assert names(WORKSPACE, "metrics", None, "", 10) == [FieldName("loss")]
        assert names(WORKSPACE, "tags", "diesel", "", 10) == [FieldName("even"), FieldName("nth")]
        assert names(WORKSPACE, "tags", None, "E", 10) == [FieldName("even")]
        assert names(WORKSPACE, "tags", None, "", 1) == [FieldName("even")]
        assert names(WORKSPACE, "params", None, "", 10) == names("w-9", "tags", None, "", 10) == []
        assert names(WORKSPACE, "tags", "no such", "", 10) == []
        values = many.run_fields.values
        assert values(WORKSPACE, "tags.even", None, "", 10) == [FieldValue("False", 6), FieldValue("True", 6)]
        assert values(WORKSPACE, "tags.even", "steam", "t", 10) == [FieldValue("True", 4)]
        assert values(WORKSPACE, "experiment", None, "", 1) == [FieldValue("steam", 8)]
        with pytest.raises(InvalidInput, match="no groups by 'created'"):
            values(WORKSPACE, "created", None, "", 1)

    def test_samples_of_the_machine_are_not_named_as_metrics(self, many: Storage, tmp_path: Path) -> None:
        slots, words = journal(tmp_path / "spool" / "machine", lambda j: log_all(j, [7.0]))
        many.metrics.append("r-8", "node_0", "text", 0, words.replace(b"loss", b"load"), system=True)
        many.metrics.append("r-8", "node_0", "slots", 0, slots, system=True)
        assert [each.name for each in many.run_fields.names(WORKSPACE, "metrics", None, "l", 10)] == ["loss"]

    def test_groups_have_counts_and_spreads(self, many: Storage) -> None:
        query = RunQuery(WORKSPACE, where="metrics.loss < 100", show=("loss",))
        even, odd = many.run_fields.groups(query, "tags.even", 10)
        assert (even.value, even.runs, even.metrics) == (
            "True",
            3,
            {"loss": MetricSpread(3, -math.inf, -math.inf, 1.5)},
        )
        assert (odd.value, odd.runs, odd.metrics) == ("False", 2, {"loss": MetricSpread(2, 0.5, 1.5, 2.5)})
        assert many.run_fields.groups(RunQuery("w-9"), "status", 10) == []
        [without] = many.run_fields.groups(RunQuery(WORKSPACE, "diesel"), "params.lr", 10)
        assert (without.value, without.runs, without.metrics) == (None, 4, {})

    @pytest.mark.parametrize("order", ["created", "metric:loss", "max(metrics.loss)", "tags.nth", "ended", "name"])
    @pytest.mark.parametrize("ascending", [True, False])
    @pytest.mark.parametrize(
        "tags",
        [(), (("even", "True"),), (("even", None),), (("even", "True"), ("nth", "6")), (("nth", "6"), ("even", None))],
    )
    @pytest.mark.parametrize("rare", [0, 5000])
    def test_pages_together_are_the_whole_list(
        self, many: Storage, order: str, ascending: bool, tags: Any, rare: int
    ) -> None:
        """Both ways to a page, the index walk and the sort, give the same pages."""
        query = RunQuery(WORKSPACE, "steam", order=order, ascending=ascending, tags=tags)
        with many.database.read() as connection:
            whole, _ = find(connection, query)
            pieces, cursor = find(connection, replace(query, limit=1), rare)
            while cursor is not None and len(pieces) <= len(whole):
                page, cursor = find(connection, replace(query, limit=1, cursor=cursor), rare)
                pieces += page
        assert pieces == whole != []

    def test_the_count_is_that_of_all_pages(self, many: Storage) -> None:
        query = RunQuery(WORKSPACE, "steam", limit=1)
        whole, _ = many.runs.list(replace(query, limit=100))
        assert many.runs.count(query) == RunCount(len(whole), more=False)
        assert many.runs.count(RunQuery(WORKSPACE, "no such")) == RunCount(0, more=False)

    def test_new_runs_do_not_change_the_next_page(self, many: Storage) -> None:
        query = RunQuery(WORKSPACE, limit=3)
        _, cursor = many.runs.list(query)
        many.runs.create(record("new"), "", [])
        assert ids(many.runs.list(replace(query, cursor=cursor))) == ["r-8", "r-7", "r-6"]

    @pytest.mark.parametrize(
        "bad",
        [{"limit": 0}, {"order": "age"}, {"order": "metric:"}, {"metric_min": 1.0}, {"cursor": "x"}, {"cursor": "é"}],
    )
    def test_an_invalid_query_is_refused(self, store: Storage, bad: dict[str, Any]) -> None:
        with pytest.raises(InvalidInput):
            store.runs.list(RunQuery(WORKSPACE, **bad))

    def test_a_cursor_belongs_to_its_order(self, many: Storage) -> None:
        _, cursor = many.runs.list(RunQuery(WORKSPACE, limit=1))
        with pytest.raises(InvalidInput, match="not a cursor of this query"):
            many.runs.list(RunQuery(WORKSPACE, order="metric:loss", cursor=cursor))
