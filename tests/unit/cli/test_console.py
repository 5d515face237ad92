"""The exact text of what is printed."""

from __future__ import annotations

import json
import math
import os
import threading

import pytest

from footplate.cli import console, tables
from footplate.cli.context import parse_pairs, patiently
from footplate.cli.run import experiment_name
from footplate.cli.runs import charts
from footplate.domain.replies import MetricSeries


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.123456789, "0.123457"), (3, "3"), (True, "true"), (None, "null"), ("sgd", "sgd"), (1e-9, "1e-09"),
        (math.nan, "nan"), ([1, 2], "[1, 2]"), ("x" * 80, "x" * 59 + "…"),
    ],
)  # fmt: skip
def test_number(value: object, words: str) -> None:
    assert console.number(value) == words


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ([], ""),
        ([math.nan, math.inf], ""),
        ([1.0], "▁"),
        ([0, 1, 2, 3, 4, 5, 6, 7], "▁▂▃▄▅▆▇█"),
        ([7, 0], "█▁"),
        ([3, 3, 3], "▁▁▁"),
        ([0, math.nan, 7], "▁█"),
    ],
)
def test_sparkline(values: list[float], line: str) -> None:
    assert console.sparkline(values) == line


def test_a_long_series_is_averaged_into_one_line() -> None:
    line = console.sparkline([float(i) for i in range(10_000)], width=8)
    assert line == "▁▂▃▄▅▆▇█"


def test_a_table_in_a_pipe_is_plain_and_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    tables.print_table(["name", "size"], [["a", "10 B"], ["long-name", None]], right=["size"])
    assert capsys.readouterr().out == "NAME       SIZE\na          10 B\nlong-name\n"


@pytest.mark.parametrize("items", [[], [{"name": "naïve\udcff", "sizes": [1, 2]}], [1, {}, None]])
def test_a_streamed_list_is_the_same_json(items: list[object], capsys: pytest.CaptureFixture[str]) -> None:
    console.emit(items)
    whole = capsys.readouterr().out
    console.emit_each(iter(items))
    assert capsys.readouterr().out == whole


def test_times_for_programs_are_iso_8601_in_utc() -> None:
    assert console.iso(1700000000.25) == "2023-11-14T22:13:20.250+00:00"


def test_pairs_leave_out_empty_values(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_pairs([("id", "r1"), ("parent", None), ("tags", ""), ("target", "local")])
    assert capsys.readouterr().out == "id      r1\ntarget  local\n"


def test_data_goes_to_stdout_and_messages_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    console.say("talk")
    console.emit({"ü": 1})
    captured = capsys.readouterr()
    assert captured.err == "talk\n"
    assert json.loads(captured.out) == {"ü": 1}


def test_json_of_names_that_are_not_utf8_is_utf8(capsys: pytest.CaptureFixture[str]) -> None:
    data = {"path": os.fsdecode(b"\xc3\xbc\xff.txt"), "other": "\U0001f600"}
    console.emit(data)
    out = capsys.readouterr().out
    assert '"ü\\udcff.txt"' in out
    assert json.loads(out.encode("utf-8")) == data


def test_paths_may_be_given_as_they_are_printed() -> None:
    name = os.fsdecode(b"outputs/odd\xff/a.txt")
    assert all(
        console.is_within(name, path) for path in (name, "outputs", "outputs/", "outputs/odd�", "outputs/odd�/a.txt")
    )
    assert not any(console.is_within(name, path) for path in ("out", "outputs/odd", "outputs/odd?/a.txt"))


def test_waiting_for_a_server_is_announced(capsys: pytest.CaptureFixture[str]) -> None:
    before = set(threading.enumerate())
    with patiently(0.0):
        for timer in set(threading.enumerate()) - before:
            timer.join(10)
    assert capsys.readouterr().err == "waiting for the server …\n"
    with patiently(60.0):
        pass
    assert capsys.readouterr().err == ""


def test_metrics_table(capsys: pytest.CaptureFixture[str]) -> None:
    series = [
        MetricSeries("loss", "float", [[1.0, None, 0.5], [2.0, None, {"float": "NaN"}], [3.0, None, 0.25]]),
        MetricSeries("optimizer", "json", [[1.0, None, "sgd"]]),
    ]
    charts.show_table(series)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["METRIC", "COUNT", "LAST", "MIN", "MAX", "COURSE"]
    assert lines[1].split() == ["loss", "3", "0.25", "0.25", "0.5", "█▁"]
    assert lines[2].split() == ["optimizer", "1", "sgd"]


def test_one_series_as_lines(capsys: pytest.CaptureFixture[str]) -> None:
    loss = MetricSeries("loss", "float", [[2.0, 7.0, 0.25], [1.0, None, 0.5]])
    charts.show_series({"r1": [loss]})
    assert capsys.readouterr().out == "0\t0.5\n7\t0.25\n"
    charts.show_series({"r1": [loss]}, by_time=True)
    assert capsys.readouterr().out == "0\t0.5\n1\t0.25\n"


def test_several_series_are_named_by_what_differs(capsys: pytest.CaptureFixture[str]) -> None:
    loss, score = (MetricSeries(name, "float", [[1.0, 3, 0.5]]) for name in ("loss", "score"))
    charts.show_series({"r1": [loss], "r2": [loss]})
    charts.show_series({"r1": [loss, score]})
    charts.show_series({"r1": [loss, score], "r2": [loss]})
    names = [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()]
    assert names == ["r1", "r2", "loss", "score", "r1 loss", "r1 score", "r2 loss"]


@pytest.mark.parametrize(
    ("script", "name"), [("train.py", "train"), ("a/b c.py", "b-c"), ("ü.py", "scripts"), ("_x.py", "x")]
)
def test_experiment_names_follow_azures_rule(script: str, name: str) -> None:
    assert experiment_name(script) == name


def test_key_value_options() -> None:
    assert parse_pairs(["a=1", "b=", "c=x=y"], "--tag") == {"a": "1", "b": "", "c": "x=y"}
    for bad in ("a", "=1", ""):
        with pytest.raises(Exception, match="is not KEY=VALUE"):
            parse_pairs([bad], "--tag")


@pytest.mark.parametrize(
    ("hint", "shown"),
    [
        ("raise max_run_duration_seconds", "raise --timeout"),
        ("lower node_count, or raise max_nodes of 'c'", "lower --nodes, or raise --max-nodes of 'c'"),
        ("request fewer (gpus, gpus_per_process)", "request fewer (--gpus, --gpus-per-process)"),
        ("or gpus = 0 for none", "or --gpus 0 for none"),
        (
            "add it: conda_dependencies.add_pip_package('x')",
            "add it: a line x in a requirements file, footplate run -r FILE",
        ),
        ("see service.get_logs(), or: footplate endpoints logs svc", "see footplate endpoints logs svc"),
        ("deploy with a larger memory_gb", "deploy with a larger --memory-gb"),
        ("give an entry script: InferenceConfig(entry_script=…)", "give an entry script: --script FILE"),
        ("register it with model_framework='Onnx'", "register it with --framework Onnx"),
        ("use another node", "use another node"),
    ],
)
def test_hints_name_options_of_the_command_line(hint: str, shown: str) -> None:
    assert console.with_options(hint) == shown
