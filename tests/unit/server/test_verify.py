"""`footplate server verify` finds every kind of damage, names file and run, and repairs what can be repaired."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from footplate.content.manifest import FILE, PLAIN, ManifestEntry, to_manifest
from footplate.domain.records import FileView, NodeRecord, NodeState, Outcome, Stage, WorkspaceView
from footplate.server.process import take_lock
from footplate.server.verify import main
from footplate.storage import Storage
from support.storage_parts.fixtures import WORKSPACE, journal, log_all, record

RUN = "r-1"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Provide a home with one ended run that has a snapshot, an output, metrics and a log."""
    home = tmp_path / "home"
    store = Storage.open(home)
    store.workspaces.create(WorkspaceView(WORKSPACE, "lab", "s", "g", "", 1.0))
    source = store.blobs.put_bytes(b"print()")
    snapshot = store.blobs.put_bytes(to_manifest([ManifestEntry("train.py", FILE, PLAIN, 7, source)]))
    node = NodeRecord(0, NodeState.DONE, logs=(1, 6))
    made = record(RUN, stage=Stage.ENDED, snapshot=snapshot)
    made = replace(made, outcome=Outcome("completed"), nodes=(node,))
    store.runs.create(made, "", [])
    store.files.add(RUN, [FileView("outputs/model", 5, store.blobs.put_bytes(b"model"))], False, 1.0)
    store.logs.append(RUN, "user_logs/std_log.txt", 0, b"hello\n")
    slots, words = journal(tmp_path / "spool", lambda j: log_all(j, [1.0, 2.0, 3.0]))
    store.metrics.append(RUN, "w", "text", 0, words)
    store.metrics.append(RUN, "w", "slots", 0, slots)
    store.close()
    return home


def blob_of(home: Path, content: bytes) -> Path:
    return next(p for p in (home / "blobs").glob("??/*") if p.read_bytes() == content)


def overwrite(path: Path, content: bytes) -> None:
    path.chmod(0o644)
    path.write_bytes(content)


@pytest.fixture
def check(home: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, dict[str, Any]]]:
    def check(*options: str) -> tuple[int, dict[str, Any]]:
        code = main(["--home", str(home), "--json", *options])
        return code, json.loads(capsys.readouterr().out)

    return check


def test_sound_home_has_no_problems(home: Path, check: Any, capsys: pytest.CaptureFixture[str]) -> None:
    code, report = check()
    assert (code, report["sound"], report["problems"]) == (0, True, [])
    assert report["checked"] == {"databases": 1, "blobs": 3, "files": 1, "snapshots": 2, "runs": 1}
    assert main(["--home", str(home)]) == 0
    assert capsys.readouterr().out.endswith("1 runs: no problems\n")


@pytest.mark.parametrize(
    ("content", "kinds", "name"),
    [(b"model", ["blob", "file"], "'outputs/model'"), (b"print()", ["blob", "snapshot"], "'train.py'")],
)
def test_damaged_blobs_are_named_and_set_aside(
    home: Path, check: Any, content: bytes, kinds: list[str], name: str
) -> None:
    blob = blob_of(home, content)
    overwrite(blob, b"wrong")
    code, report = check()
    assert code == 1
    assert [problem["kind"] for problem in report["problems"]] == kinds
    assert report["problems"][0]["path"] == str(blob)
    assert report["problems"][1]["run"] == RUN and name in report["problems"][1]["message"]
    assert blob.exists(), "nothing changes without --repair"
    assert check("--repair")[0] == 1
    assert not blob.exists() and (home / "blobs" / ".damaged" / blob.name).exists()
    store = Storage.open(home)
    store.blobs.put_bytes(content)
    store.close()
    assert check()[0] == 0


@pytest.mark.parametrize(("name", "left"), [("w.slots", 64), ("w.text", 0)])
def test_summaries_are_rebuilt_from_what_is_left(home: Path, check: Any, name: str, left: int) -> None:
    os.truncate(home / "runs" / RUN / "journals" / name, left)
    code, report = check()
    assert code == 1 and report["problems"][0]["kind"] == "journal" and report["problems"][0]["run"] == RUN
    code, report = check("--repair")
    assert code == 0 and report["problems"][0]["solved"]
    assert check()[1]["problems"] == []
    store = Storage.open(home)
    counts = [series["count"] for series in store.metrics.summary(RUN)]
    store.close()
    assert counts == ([1] if name == "w.slots" else [])


def test_lost_logs_are_named(home: Path, check: Any) -> None:
    (home / "runs" / RUN / "logs" / "user_logs" / "std_log.txt").unlink()
    code, report = check()
    assert code == 1
    assert [(problem["kind"], problem["run"]) for problem in report["problems"]] == [("log", RUN)]


@pytest.mark.parametrize("content", [b"", b"not a database" * 1000])
def test_damaged_database_is_a_problem(home: Path, check: Any, content: bytes) -> None:
    (home / "footplate.db").write_bytes(content)
    code, report = check()
    assert code == 1
    assert [problem["kind"] for problem in report["problems"]] == ["database"]


def test_repair_waits_for_no_running_server(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    held = take_lock(str(home))
    try:
        assert main(["--home", str(home), "--repair"]) == 2
        assert "runs already" in capsys.readouterr().err
    finally:
        os.close(held)


def test_home_without_a_server_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--home", str(tmp_path)]) == 2
    assert "nothing to check" in capsys.readouterr().err
