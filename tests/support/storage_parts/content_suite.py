"""Conformance of the content of runs: files, logs and metrics."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text

from footplate.domain.records import (
    FileView,
)
from footplate.errors import Broken, Conflict, InvalidInput, NotFound
from footplate.job.journal import Journal
from footplate.storage import RunQuery, Storage
from support.storage_parts.fixtures import (
    ODD,
    WORKSPACE,
    StorageFixtures,
    created,
    ids,
    journal,
    log_all,
    record,
)


class FileTests(StorageFixtures):
    @pytest.fixture
    def run(self, store: Storage) -> str:
        return created(store, record("r-1")).id

    def file(self, path: str, size: int = 3) -> FileView:
        return FileView(path, size, f"{size:02x}" * 32, 50.0)

    def test_files_are_listed_by_path_and_prefix(self, store: Storage, run: str) -> None:
        names = ["outputs/b", "outputs/a", "outputs2/x", "outputs/é/\udcff", ODD, "outputs/\udcff\udcff"]
        assert store.files.add(run, [self.file(n) for n in names], False, 50.0) == (names, [])
        assert {f.path for f in store.files.list(run)} == set(names)
        expected = ["outputs/a", "outputs/b", "outputs/é/\udcff", "outputs/\udcff\udcff"]
        assert [f.path for f in store.files.list(run, "outputs/")] == expected
        assert store.files.get(run, "outputs/é/\udcff") == self.file("outputs/é/\udcff")
        assert store.files.list(run, "%") == []

    def test_uploads_of_a_user_must_all_be_new(self, store: Storage, run: str) -> None:
        store.files.add(run, [self.file("a")], False, 50.0)
        with pytest.raises(Conflict, match="'a' already exists"):
            store.files.add(run, [self.file("b"), self.file("a"), self.file("c")], False, 60.0)
        with pytest.raises(Conflict, match="'d' already exists"):
            store.files.add(run, [self.file("d"), self.file("d")], False, 60.0)
        assert [f.path for f in store.files.list(run)] == ["a"]

    def test_collected_files_skip_names_that_exist(self, store: Storage, run: str) -> None:
        store.files.add(run, [self.file("a", 1)], False, 50.0)
        assert store.files.add(run, [self.file("b"), self.file("a", 2)], True, 60.0) == (["b"], ["a"])
        assert store.files.get(run, "a").size == 1

    def test_uploads_may_overwrite_files_but_not_folders(self, store: Storage, run: str) -> None:
        store.files.add(run, [self.file("a", 1), self.file("b/c", 1)], False, 50.0)
        new = [self.file("a", 2), self.file("d", 1)]
        assert store.files.add(run, new, False, 60.0, "once", overwrite=True) == (["a", "d"], [])
        assert store.files.get(run, "a").digest == self.file("a", 2).digest
        for path in ("b", "a/x"):
            with pytest.raises(Conflict):
                store.files.add(run, [self.file(path)], False, 70.0, overwrite=True)

    def test_a_repeated_request_changes_nothing(self, store: Storage, run: str) -> None:
        files = [self.file("a"), self.file("b/c")]
        assert store.files.add(run, files, False, 50.0, "once") == (["a", "b/c"], [])
        assert store.files.add(run, files, False, 60.0, "once") == (["a", "b/c"], [])
        assert store.files.add(run, files, True, 60.0, "once") == (["a", "b/c"], [])
        assert store.files.get(run, "a").modified == 50.0
        for request in ("twice", None):
            with pytest.raises(Conflict, match="'a' already exists"):
                store.files.add(run, files, False, 60.0, request)
        with pytest.raises(Conflict, match="'a' already exists"):
            store.files.add(run, [*files, self.file("a")], False, 60.0, "once")
        assert len(store.files.list(run)) == 2

    @pytest.mark.parametrize("first", ["a", "a/b/c", "a/b"])
    def test_a_path_is_a_file_or_a_folder(self, store: Storage, run: str, first: str) -> None:
        store.files.add(run, [self.file(first), self.file("a-b"), self.file("a0")], False, 50.0)
        for second in {"a", "a/b", "a/b/c"} - {first}:
            with pytest.raises(Conflict, match=r"is the folder of other files|which is a file"):
                store.files.add(run, [self.file("new"), self.file(second)], False, 60.0)
            assert store.files.add(run, [self.file(second)], True, 60.0) == ([], [second])
        with pytest.raises(Conflict, match="'x/y' cannot be below 'x', which is a file in run"):
            store.files.add(run, [self.file("x"), self.file("x/y")], False, 60.0)
        with pytest.raises(Conflict, match="'x' is the folder of other files in run"):
            store.files.add(run, [self.file("x/y"), self.file("x")], False, 60.0)
        assert {f.path for f in store.files.list(run)} == {first, "a-b", "a0"}
        store.files.add(run, [self.file("a.txt"), self.file("a b/c"), self.file("A/b")], False, 60.0)

    def test_a_folder_is_replaced_as_a_whole_and_others_stay(self, store: Storage, run: str) -> None:
        store.files.add(run, [self.file("c/mine"), self.file("cc/a"), self.file("c0")], False, 50.0)
        assert store.files.replace(run, "c", [self.file("c/a"), self.file("c/b/1")], 60.0, 1) == []
        assert store.files.replace(run, "c", [self.file("c/a", 4), self.file("c/mine", 4)], 70.0, 2) == ["c/mine"]
        kept = {(f.path, f.size, f.modified) for f in store.files.list(run)}
        assert kept == {("c/a", 4, 70.0), ("c/mine", 3, 50.0), ("c0", 3, 50.0), ("cc/a", 3, 50.0)}
        assert store.files.replace(run, "c", [], 80.0, 2) == []
        assert [f.path for f in store.files.list(run, "c/")] == ["c/mine"]

    def test_one_of_two_uploads_of_a_name_wins(self, store: Storage, run: str) -> None:
        def add(i: int) -> bool:
            try:
                store.files.add(run, [self.file(f"own-{i}"), self.file("same")], False, 50.0)
            except Conflict:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(add, range(8))) == 1
        assert len(store.files.list(run)) == 2

    @pytest.mark.parametrize(
        "bad", ["", "/etc/passwd", "../x", "a/../b", "a//b", "./a", "a/", "a\0b", "x" * 256, "\ud800"]
    )
    def test_a_path_that_leaves_the_run_is_refused(self, store: Storage, run: str, bad: str) -> None:
        with pytest.raises(InvalidInput, match="cannot be the path"):
            store.files.add(run, [self.file(bad)], True, 50.0)
        with pytest.raises(InvalidInput, match="cannot be the path"):
            store.files.get(run, bad)
        with pytest.raises(InvalidInput, match="cannot be the path"):
            store.logs.append(run, bad, 0, b"x")

    def test_a_later_attempt_writes_its_files_again(self, store: Storage, run: str) -> None:
        old = [self.file("kept", 1), self.file("same", 1), self.file("new", 1)]
        store.files.add(run, old, False, 50.0)
        again = [self.file("same", 1), self.file("new", 2)]
        assert store.files.add(run, again, True, 60.0, attempt=2) == (["same", "new"], [])
        assert store.files.add(run, [self.file("new", 3)], True, 70.0, attempt=2) == ([], ["new"])
        # A file that another node of the same attempt found unchanged does not block the node that changed it.
        assert store.files.add(run, [self.file("same", 4)], True, 70.0, attempt=2) == (["same"], [])
        with pytest.raises(Conflict):
            store.files.add(run, [self.file("new", 5)], False, 80.0, attempt=2)
        assert store.files.add(run, [self.file("new", 5)], False, 80.0, attempt=3) == (["new"], [])
        assert [(f.path, f.size) for f in store.files.list(run)] == [("kept", 1), ("new", 5), ("same", 4)]

    def test_unknown_runs_and_files(self, store: Storage, run: str) -> None:
        with pytest.raises(NotFound, match=r"'outputs/model\.pt'"):
            store.files.get(run, "outputs/model.pt")
        with pytest.raises(NotFound, match="ghost"):
            store.files.list("ghost")


class LogTests(StorageFixtures):
    @pytest.fixture
    def run(self, store: Storage) -> str:
        return created(store, record("r-1")).id

    def test_a_log_grows_by_offset(self, store: Storage, run: str) -> None:
        assert store.logs.append(run, "user_logs/std_log.txt", 0, b"hello ") == 6
        assert store.logs.append(run, "user_logs/std_log.txt", 6, b"world") == 11
        assert store.logs.append(run, "user_logs/std_log.txt", 6, b"world") == 11
        assert store.logs.append(run, "user_logs/std_log.txt", 3, b"lo world!") == 12
        assert store.logs.append(run, "user_logs/std_log.txt", 0, b"he") == 12
        assert store.logs.read(run, "user_logs/std_log.txt", 0, 100) == b"hello world!"
        assert store.logs.read(run, "user_logs/std_log.txt", 6, 5) == b"world"
        assert store.logs.read(run, "user_logs/std_log.txt", 99, 5) == b""

    def test_a_gap_is_refused_with_the_size(self, store: Storage, run: str) -> None:
        store.logs.append(run, "a", 0, b"123")
        with pytest.raises(Conflict, match="gap") as refused:
            store.logs.append(run, "a", 4, b"5")
        assert refused.value.details["size"] == 3
        assert store.logs.size(run, "a") == 3

    def test_a_log_that_does_not_exist_is_empty(self, store: Storage, run: str) -> None:
        assert store.logs.read(run, "a/b", 0, 10) == b""
        assert store.logs.size(run, "a/b") == 0
        assert store.logs.list(run) == []

    def test_a_log_can_be_replaced(self, store: Storage, run: str) -> None:
        store.logs.append(run, "a", 0, b"the old one, and long")
        assert store.logs.append(run, "a", 0, b"new", replace=True) == 3
        assert store.logs.append(run, "a", 3, b"er") == 5
        assert store.logs.append(run, "a", 2, b"xt", replace=True) == 4
        assert store.logs.read(run, "a", 0, 100) == b"next"
        assert store.logs.sizes(run) == {"a": 4}

    def test_recent_lines_of_a_log(self, store: Storage, run: str) -> None:
        store.logs.append(run, "a", 0, b"one\ntw", now=1000.0)
        store.logs.append(run, "a", 6, b"o\n", now=1060.0)
        store.logs.append(run, "a", 8, b"three\n", now=1060.5)
        store.logs.append(run, "a", 14, b"four\n", now=1120.0)
        store.logs.append(run, "a", 14, b"four\n", now=1200.0)
        for moment, line in ((990.0, b"one"), (1030.0, b"two"), (1090.0, b"four"), (1150.0, b"")):
            offset = store.logs.recent(run, "a", moment)
            assert store.logs.read(run, "a", offset, 100).partition(b"\n")[0] == line
        assert store.logs.recent(run, "ghost", 0.0) == 0

    def test_a_rewritten_log_is_recent_from_there_on(self, store: Storage, run: str) -> None:
        store.logs.append(run, "a", 0, b"one\ntwo\n", now=1000.0)
        store.logs.append(run, "a", 4, b"2\n", replace=True, now=1060.0)
        assert store.logs.recent(run, "a", 1030.0) == 4
        assert store.logs.recent(run, "a", 1100.0) == 6

    def test_a_log_without_times_is_as_old_as_its_last_change(self, store: Storage, run: str) -> None:
        store.logs.append(run, "a", 0, b"one\n", now=1000.0)
        assert not (store.home / "runs" / run / "log_times").exists()
        assert store.logs.recent(run, "a", 990.0) == 0
        assert store.logs.recent(run, "a", 1060.0) == 4
        store.logs.append(run, "a", 4, b"two\n")
        assert store.logs.recent(run, "a", 990.0) == 0
        assert store.logs.recent(run, "a", time.time() - 60) == 4

    def test_logs_are_listed_with_their_sizes(self, store: Storage, run: str) -> None:
        store.logs.append(run, "b/\udcff", 0, b"12")
        store.logs.append(run, "a", 0, b"")
        assert store.logs.sizes(run) == {"a": 0, "b/\udcff": 2}
        assert [f.digest for f in store.logs.list(run)] == [None, None]

    def test_a_file_is_not_a_folder(self, store: Storage, run: str) -> None:
        store.logs.append(run, "a/b", 0, b"x")
        with pytest.raises(Conflict):
            store.logs.append(run, "a", 0, b"x")
        with pytest.raises(Conflict):
            store.logs.append(run, "a/b/c", 0, b"x")

    def test_an_unknown_run_reaches_no_file(self, store: Storage, run: str) -> None:
        for ghost in ("ghost", "../../etc", "/etc", "a\0b", ""):
            with pytest.raises((NotFound, InvalidInput)):
                store.logs.append(ghost, "a", 0, b"x")
        assert [p.name for p in (store.home / "runs").iterdir()] == [] if (store.home / "runs").exists() else True

    def test_many_threads_send_the_same_log(self, store: Storage, run: str) -> None:
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
    def run(self, store: Storage) -> str:
        return created(store, record("r-1")).id

    def send(self, store: Storage, writer: str, slots: bytes, words: bytes, system: bool = False) -> None:
        store.metrics.append("r-1", writer, "text", 0, words, system)
        store.metrics.append("r-1", writer, "slots", 0, slots, system)

    def test_every_kind_survives(self, store: Storage, run: str, tmp_path: Path) -> None:
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
        assert kinds == ["scalar"] * 6 + ["list", "table", "table", "artifact"]
        assert store.metrics.read(run, "epoch") == [read["epoch"]]
        assert store.metrics.read(run, "never") == []

    def test_summaries(self, store: Storage, run: str, tmp_path: Path) -> None:
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

    def test_pieces_of_any_size_give_the_same_metrics(self, store: Storage, run: str, tmp_path: Path) -> None:
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
            assert store.metrics.append(run, "rank_0", "slots", again, slots[again : at + size]) == min(
                at + size, len(slots)
            )
            at = min(at + size, len(slots))
        assert store.metrics.append(run, "rank_0", "slots", 0, slots) == len(slots)
        summary = {item["name"]: item for item in store.metrics.summary(run)}
        assert (summary["loss"]["count"], summary["loss"]["last"], summary["word"]["last"]) == (100, 99.0, "99")
        assert sum(summary[f"other-{i}"]["count"] for i in range(7)) == 100
        assert [p[2] for p in store.metrics.read(run, "loss")[0]["points"]] == [float(i) for i in range(100)]
        assert store.metrics.sizes(run) == {"rank_0.slots": len(slots), "rank_0.text": len(words)}

    def test_gaps_and_bytes_that_differ_are_refused(self, store: Storage, run: str, tmp_path: Path) -> None:
        slots, words = journal(tmp_path / "spool", lambda j: j.log("loss", 1.0))
        with pytest.raises(Conflict, match="gap") as refused:
            store.metrics.append(run, "rank_0", "slots", 32, slots)
        assert refused.value.details["size"] == 0
        self.send(store, "rank_0", slots, words)
        with pytest.raises(Conflict, match="differs"):
            store.metrics.append(run, "rank_0", "slots", 0, bytes(len(slots)))

    def test_the_first_kind_of_a_name_wins(self, store: Storage, run: str, tmp_path: Path) -> None:
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

    def test_ranks_are_merged_by_time(self, store: Storage, run: str, tmp_path: Path) -> None:
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

    def test_a_later_attempt_replaces_the_steps_that_it_repeats(self, store: Storage, run: str, tmp_path: Path) -> None:
        def write(journal: Journal, steps: range, value: float) -> None:
            for step in steps:
                journal.log("loss", value, step)

        for writer, steps, value in (("rank_0_attempt_2_7_ab", range(1, 4), 2.0), ("rank_0_7_cd", range(3), 9.0)):
            made = journal(tmp_path / "s", lambda j, s=steps, v=value: write(j, s, v), writer)
            self.send(store, writer, *made)
        (loss,) = store.metrics.read(run)
        assert [point[1:] for point in loss["points"]] == [[0, 9.0], [1, 2.0], [2, 2.0], [3, 2.0]]
        assert loss["attempts"] == [(2, 1)]
        (summary,) = store.metrics.summary(run)
        assert (summary["count"], summary["min"], summary["max"]) == (4, 2.0, 9.0)

    def test_machine_samples_are_kept_apart(self, store: Storage, run: str, tmp_path: Path) -> None:
        self.send(store, "rank_0", *journal(tmp_path / "a", lambda j: j.log("cpu", 1.0)))
        self.send(store, "node_0", *journal(tmp_path / "b", lambda j: j.log("cpu", 2.0), "node_0"), system=True)
        assert [p[2] for p in store.metrics.read(run)[0]["points"]] == [1.0]
        assert [p[2] for p in store.metrics.read(run, system=True)[0]["points"]] == [2.0]
        assert [(s["name"], s["system"]) for s in store.metrics.summary(run)] == [("cpu", False), ("cpu", True)]
        assert ids(store.runs.list(RunQuery(WORKSPACE, metric="cpu", metric_min=1.5))) == []

    def test_many_writers_at_once(self, store: Storage, run: str, tmp_path: Path) -> None:
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

    def test_holes_and_damaged_slots_are_skipped(self, store: Storage, run: str, tmp_path: Path) -> None:
        slots, words = journal(tmp_path / "s", lambda j: (j.log("loss", 1.0), j.log("word", "x"))[0])
        hole, unknown_series = bytes(32), slots[32:56] + b"\x63\0\0\0" + slots[60:64]
        lost_text = b"\xff\xff\xff\x7f\xff\xff\xff\x7f" + slots[-32:][8:]
        bad = slots + hole + unknown_series + lost_text + slots[32:64]
        self.send(store, "rank_0", bad, words)
        summary = {item["name"]: item["count"] for item in store.metrics.summary(run)}
        assert summary == {"loss": 2, "word": 1}
        assert [len(item["points"]) for item in store.metrics.read(run)] == [2, 1]

    @pytest.mark.parametrize(("name", "left"), [("w.slots", 33), ("w.slots", None), ("w.text", 0), ("w.text", None)])
    def test_lost_journals_are_an_error(
        self, store: Storage, run: str, tmp_path: Path, name: str, left: int | None
    ) -> None:
        self.send(store, "w", *journal(tmp_path / "spool", lambda j: log_all(j, [1.0, 2.0, 3.0])))
        file = store.home / "runs" / run / "journals" / name
        if left is None:
            file.unlink()
        else:
            os.truncate(file, left)
        for read in (store.metrics.read, store.metrics.summary):
            with pytest.raises(Broken, match=f"metrics of run {run} are lost: .*{name}"):
                read(run)

    def test_names_that_no_database_accepts_are_repaired(self, store: Storage, run: str, tmp_path: Path) -> None:
        self.send(
            store, "rank_0", *journal(tmp_path / "s", lambda j: (j.log("a\0b\ud800", 1.0), j.log("n" * 9999, 2.0))[0])
        )
        assert [(s["name"][:3], s["count"]) for s in store.metrics.summary(run)] == [("a\ufffdb", 1), ("nnn", 1)]
        assert [[p[2] for p in item["points"]] for item in store.metrics.read(run)] == [[1.0], [2.0]]

    @pytest.mark.parametrize("bad", ["", "../x", "a/b", ".x", "a\0", "a..b", "x" * 129])
    def test_a_writer_name_that_would_be_a_path_is_refused(self, store: Storage, run: str, bad: str) -> None:
        with pytest.raises(InvalidInput, match="writer"):
            store.metrics.append(run, bad, "slots", 0, b"")
        with pytest.raises(InvalidInput, match="stream"):
            store.metrics.append(run, "rank_0", "other", 0, b"")
        with pytest.raises(NotFound):
            store.metrics.append("ghost", "rank_0", "slots", 0, b"")

    def test_a_restart_ingests_what_was_only_written(
        self, store: Storage, run: str, tmp_path: Path, open_store: Callable[[], Storage]
    ) -> None:
        slots, words = journal(tmp_path / "s", lambda j: log_all(j, [float(i) for i in range(10)]))
        store.metrics.append(run, "rank_0", "text", 0, words)
        store.metrics.append(run, "rank_0", "slots", 0, slots[:96])
        file = store.home / "runs" / run / "journals" / "rank_0.slots"
        with file.open("ab") as opened:  # the state that a server leaves when it is killed right after the write
            opened.write(slots[96:200])
        again = open_store()
        with again.database.read() as connection:
            assert connection.execute(text("SELECT ingested FROM journals")).scalar() == 192
        assert again.metrics.append(run, "rank_0", "slots", 200, slots[200:]) == len(slots)
        assert again.metrics.summary(run)[0]["count"] == 10
