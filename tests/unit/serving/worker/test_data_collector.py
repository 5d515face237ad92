"""ModelDataCollector in a scoring script: which rows are kept, and where."""

from __future__ import annotations

import csv
import datetime
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from azureml.monitoring import ModelDataCollector
from footplate.domain.serving.worker_config import ServedModel, WorkerConfig
from footplate.serving.worker.data_collector import EXTRA, SERVICE, Service
from footplate.serving.worker.entry_script import EntryScript
from footplate.serving.worker.messages import ScoreRequest

MODELS = (ServedModel("points", 7, "points.pkl"),)
ELSEWHERE = WorkerConfig("web", "1", workspace_path="sub/rg/ws", models=MODELS)
REQUEST = ScoreRequest(b"{}", headers={"x-request-id": "r1"}, collect=True)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Configure this process as a worker that answers a request; return the directory of its files."""
    SERVICE.configure(replace(ELSEWHERE, model_data=str(tmp_path / "modeldata")))
    SERVICE.request = REQUEST
    yield tmp_path / "modeldata"
    vars(SERVICE).update(vars(Service()))


def read(folder: Path) -> list[list[str]]:
    (path,) = folder.rglob("*.csv")
    with path.open(newline="") as file:
        return list(csv.reader(file))


def test_a_file_has_azures_path_and_columns(folder: Path) -> None:
    before = datetime.datetime.now(datetime.timezone.utc)
    answer = ModelDataCollector("points", designation="inputs", feature_names=["x", "y"]).collect([[1, 2.5]], "mine")
    after = datetime.datetime.now(datetime.timezone.utc)
    (path,) = folder.rglob("*.csv")
    days = {f"{day:%Y/%m/%d}" for day in (before, after)}
    assert str(path.relative_to(folder)) in {f"sub/rg/ws/web/points/7/inputs/{day}/inputs.csv" for day in days}
    header, row = read(folder)
    assert header == ["x", "y", *EXTRA]
    assert row[:3] == ["1", "2.5", "mine"] and row[4:] == ["1440", "sub/rg/ws", "web", "points", "7", "r1"]
    assert before <= datetime.datetime.fromisoformat(row[3] + "+00:00") <= after
    assert answer == {"status": "collected", "id": "mine"}


@pytest.mark.parametrize(
    ("data", "names", "expected"),
    [
        (np.array([[1, 2], [3, 4]]), ["a", "b"], [["a", "b"], ["1", "2"], ["3", "4"]]),
        (np.array([0.5, 1.5]), ["label"], [["label"], ["0.5"], ["1.5"]]),
        (np.array([0.5, 1.5]), None, [["0"], ["0.5"], ["1.5"]]),
        ([1, 2], ["a", "b"], [["a", "b"], ["1", "2"]]),
        ([np.array([1, 2])], None, [["0", "1"], ["1", "2"]]),
        (3.5, None, [["0"], ["3.5"]]),
        (pd.DataFrame({"n": [1], "s": ["a,b"]}), None, [["n", "s"], ["1", "a,b"]]),
        (pd.DataFrame({"n": [1]}), ["renamed"], [["renamed"], ["1"]]),
        (pd.Series([1, 2]), ["v"], [["v"], ["1"], ["2"]]),
    ],
)
def test_data_becomes_rows(folder: Path, data: Any, names: Any, expected: list[list[str]]) -> None:
    ModelDataCollector("points", feature_names=names).collect(data)
    assert [row[: -len(EXTRA)] for row in read(folder)] == expected


@pytest.mark.parametrize(
    ("data", "names", "message"),
    [
        ([[1, 2, 3]], ["a", "b"], r"3 values, but there are 2 columns: a, b\nhint:"),
        ([[1, 2], [3]], None, r"1 values, but there are 2 columns"),
        ("text", None, r"input_data is 'text'\nhint:"),
        ([{"a": 1}], None, r"input_data is \[\{'a': 1\}\]\nhint:"),
    ],
)
def test_data_that_is_not_a_table_is_refused(folder: Path, data: Any, names: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ModelDataCollector("points", feature_names=names).collect(data)
    assert not folder.exists()


def test_names_are_checked() -> None:
    for arguments in (
        {"model_name": ""},
        {"model_name": "m", "designation": 3},
        {"model_name": "m", "feature_names": "x"},
    ):
        with pytest.raises(ValueError, match="hint: give a"):
            ModelDataCollector(**arguments)  # pyright: ignore[reportArgumentType]


def test_names_stay_inside_the_directory(folder: Path) -> None:
    ModelDataCollector("../../points", designation="..", model_version="/x").collect([1])
    (path,) = folder.rglob("*.csv")
    assert path.parent.parent.parent.parent.name == "_" and ".._.._points" in path.parts


def test_general_data_has_a_file_name_of_its_own(folder: Path) -> None:
    ModelDataCollector("points", "general", collection_name="audit").collect([1])
    ModelDataCollector("points", identifier="inputs", collection_name="audit").collect([1])
    assert {path.name for path in folder.rglob("*.csv")} == {"audit.csv", "inputs.csv"}


def test_rows_of_replicas_do_not_mix(folder: Path) -> None:
    collector = ModelDataCollector("points")
    threads = [threading.Thread(target=collector.collect, args=[[[n] * 3] * 20]) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    header, *rows = read(folder)
    assert header[:3] == ["0", "1", "2"] and len(rows) == 160
    assert all(row[0] == row[1] == row[2] for row in rows)


def test_nothing_is_kept_unless_the_gateway_chose_the_request(folder: Path, tmp_path: Path) -> None:
    script = tmp_path / "score.py"
    script.write_text(
        "from azureml.monitoring import ModelDataCollector\n"
        "def init():\n    global kept\n    kept = ModelDataCollector('points', feature_names=['x'])\n"
        "def run(data):\n    return kept.collect([data])['status']\n"
    )
    requests = [ScoreRequest(b"first"), ScoreRequest(b"second", collect=True)]
    answers = EntryScript(str(script)).answer(requests)
    assert [answer.body for answer in answers] == [b'"not enabled"', b'"collected"']
    assert [row[0] for row in read(folder)] == ["x", "second"] and SERVICE.request is None


def test_outside_of_a_service_the_collector_warns_once(capsys: pytest.CaptureFixture[str]) -> None:
    collector = ModelDataCollector("points", model_version="3")
    try:
        assert [collector.collect([1])["status"] for _ in range(2)] == ["not a web service"] * 2
    finally:
        SERVICE.has_warned = False
    assert capsys.readouterr().err.count("keeps nothing") == 1 and collector.model_version == "3"


def test_a_full_disk_does_not_fail_the_request(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder.write_text("a file where the directory should be")
    status = ModelDataCollector("points").collect([1])["status"]
    assert status.startswith("not written: ") and "cannot keep default of points" in capsys.readouterr().err
    assert SERVICE.has_warned


def test_rows_on_another_machine_wait_for_the_next_answer(folder: Path) -> None:
    SERVICE.configure(ELSEWHERE)
    inputs = ModelDataCollector("points", designation="inputs", feature_names=["x"])
    assert inputs.collect([1])["status"] == inputs.collect([2])["status"] == "collected"
    taken = SERVICE.take_outbox()
    assert [rows.rows.partition(",")[0] for rows in taken] == ["1", "2"] and not folder.exists()
    assert taken[0].header.startswith("x,") and taken[0].path.startswith("sub/rg/ws/web/points/7/inputs/")
    assert SERVICE.take_outbox() == []
