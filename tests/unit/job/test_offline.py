from __future__ import annotations

import re

import pytest

from footplate.job.offline import OfflineRun

METHODS = [
    "id", "add_properties", "set_tags", "tag", "complete", "fail", "cancel", "log", "log_list", "log_table", "log_row",
    "log_image", "log_residuals", "log_predictions", "log_accuracy_table", "log_confusion_matrix", "upload_folder",
    "upload_files", "upload_file", "child_run", "flush",
]  # fmt: skip


def test_an_offline_run_has_only_these_names():
    assert sorted(name for name in dir(OfflineRun()) if not name.startswith("_")) == sorted(METHODS)
    assert OfflineRun.__name__ == OfflineRun.__qualname__ == "_OfflineRun"
    for name in ("experiment", "get_metrics", "get_details", "parent", "register_model", "input_datasets"):
        with pytest.raises(AttributeError):
            getattr(OfflineRun(), name)


def test_an_offline_run_has_an_id():
    run = OfflineRun()
    assert re.fullmatch(r"OfflineRun_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", run.id)
    assert run.child_run("inner").id == run.id + ".inner"
    assert type(run.child_run("inner")) is OfflineRun
    assert re.fullmatch(re.escape(run.id) + r"\.[0-9a-f\-]{36}", run.child_run().id)
    assert run.child_run("a").child_run("b").id == run.id + ".a.b"


@pytest.mark.parametrize(
    ("call", "printed"),
    [
        (lambda run: run.log("loss", 0.5), "Attempted to log scalar metric loss:\n0.5\n"),
        (lambda run: run.log("loss", 0.5, "description"), "Attempted to log scalar metric loss:\n0.5\n"),
        (lambda run: run.log_list("l", [1, 2]), "Attempted to log list metric l:\n[1, 2]\n"),
        (lambda run: run.log_row("r", a=1), "Attempted to log row metric r:\n{'a': 1}\n"),
        (lambda run: run.log_table("t", {"a": [1]}), "Attempted to log table metric t:\n{'a': [1]}\n"),
        (lambda run: run.log_image("i", path="a.png"), "Attempted to log image metric i:\na.png\n"),
        (lambda run: run.upload_file("outputs/m", "m.pkl"), "Attempted to track file outputs/m at m.pkl\n"),
        (
            lambda run: run.upload_files(["a", "b"], ["x", "y"]),
            "Attempted to track file a at x\nAttempted to track file b at y\n",
        ),
        (lambda run: run.upload_folder("o", "out"), "Attempted to track folder o at out\n"),
        (lambda run: run.tag("k", "v"), "Attempted to add tag k:\nv\n"),
        (lambda run: run.set_tags({"k": "v"}), "Attempted to add tag k:\nv\n"),
        (lambda run: run.add_properties({"k": "v"}), "Attempted to add property k:\nv\n"),
        (lambda run: run.flush(timeout_seconds=1), ""),
    ],
)
def test_an_offline_run_prints_values(capsys, call, printed):
    call(OfflineRun())
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize("name", ["complete", "cancel", "fail"])
def test_ending_an_offline_run_only_prints(capsys, name):
    run = OfflineRun()
    getattr(run, name)()
    run.log("still", 1)
    assert run.id in capsys.readouterr().out


def test_log_takes_no_step():
    with pytest.raises(TypeError, match="step"):
        OfflineRun().log("loss", 1.0, step=1)  # type: ignore[call-arg]


def test_an_offline_run_is_a_context_manager(capsys):
    with pytest.raises(KeyError), OfflineRun() as run:
        raise KeyError
    assert capsys.readouterr().out.startswith(f"[START] Run {run.id} context\n")
