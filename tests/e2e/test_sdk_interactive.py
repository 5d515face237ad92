"""Interactive runs in the client's own process: metrics, files, tags, children, and the death of the client."""

from __future__ import annotations

import io
import json
import math
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from footplate import (
    AzureMLException,
    Experiment,
    Run,
    ServiceException,
    SnapshotException,
    UserErrorException,
    Workspace,
)
from footplate.testing.waiting import wait_until

pytestmark = pytest.mark.shared_home

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.fixture
def experiment(workspace: Workspace) -> Experiment:
    return Experiment(workspace, "interactive")


def start(experiment: Experiment, **options: object) -> Run:
    return experiment.start_logging(snapshot_directory=None, **options)  # type: ignore[arg-type]


def test_metrics_come_back_in_azures_shapes(experiment: Experiment):
    run = start(experiment)
    run.log("once", 0.5)
    for value in (1, 2, 3):
        run.log("thrice", value, step=value)
    run.log("word", "x")
    run.log("flag", True)
    run.log("nothing", None)
    run.log("numpy", np.float32(0.25), description="of numpy")
    run.log("nan", math.nan)
    run.log_list("list", (i / 2 for i in range(3)))
    run.log_list("one", [7])
    run.log_list("empty", [])
    run.log_row("row", x=1, y=0.5)
    for i in range(2):
        run.log_row("rows", "a description", x=i, y="r")
    run.log_table("table", {"x": [1, 2], "y": [0.5, 1.5]})
    found = run.get_metrics()
    assert math.isnan(found.pop("nan"))
    assert found == {
        "once": 0.5, "thrice": [1, 2, 3], "word": "x", "flag": True, "nothing": None, "numpy": 0.25,
        "list": [0.0, 0.5, 1.0], "one": 7, "row": {"x": 1, "y": 0.5}, "rows": {"x": [0, 1], "y": ["r", "r"]},
        "table": {"x": [1, 2], "y": [0.5, 1.5]},
    }  # fmt: skip
    assert run.get_metrics("thrice") == {"thrice": [1, 2, 3]} and run.get_metrics("unknown") == {}
    with pytest.raises(UserErrorException, match="log_list"):
        run.log("bad", [1, 2])
    with pytest.raises(AzureMLException, match="differ in length"):
        run.log_table("bad", {"x": [1], "y": [1, 2]})
    run.complete()
    assert run.get_status() == "Completed" and Run(experiment, run.id).get_metrics("once") == {"once": 0.5}


def test_images_and_documents_are_files_of_the_run(experiment: Experiment, project: Path):
    run = start(experiment)
    (project / "plot.png").write_bytes(PNG)
    (project / "plot.txt").write_text("no picture")
    run.log_image("file", path="plot.png")
    for _ in range(3):
        run.log_image("drawn", plot=SimpleNamespace(savefig=lambda target, format: target.write(PNG)))
    run.log_confusion_matrix("matrix", {"schema_type": "confusion_matrix", "data": {"matrix": [[1, 2], [3, 4]]}})
    found = run.get_metrics()
    assert found["file"] == f"aml://artifactId/ExperimentRun/dcid.{run.id}/plot.png"
    assert len(set(found["drawn"])) == 3
    for drawn in found["drawn"]:
        assert drawn.startswith(f"aml://artifactId/ExperimentRun/dcid.{run.id}/drawn_") and drawn.endswith(".png")
    assert run.get_metrics(populate=True)["file"].read() == PNG
    assert json.loads(run.get_metrics(populate=True)["matrix"].read())["data"]["matrix"] == [[1, 2], [3, 4]]
    for wrong in ({}, {"path": "plot.png", "plot": object()}, {"path": "plot.txt"}, {"path": "nowhere.png"}):
        with pytest.raises(AzureMLException):
            run.log_image("wrong", **wrong)
    with pytest.raises(UserErrorException, match="not valid JSON"):
        run.log_residuals("wrong", "{")
    run.complete()


def test_files_are_uploaded_listed_and_downloaded(
    experiment: Experiment, project: Path, monkeypatch: pytest.MonkeyPatch
):
    run = start(experiment, outputs=False)
    (project / "a.txt").write_text("a")
    (project / "folder" / "deep").mkdir(parents=True)
    (project / "folder" / "deep" / "b.txt").write_text("b")
    run.upload_file("outputs/a.txt", "a.txt")
    run.upload_file(name="./outputs/stream.bin", path_or_stream=io.BytesIO(b"stream"))
    run.upload_files(["more/1", "more/2"], ["a.txt", "a.txt"])
    run.upload_folder("outputs/folder", "folder")
    names = ["more/1", "more/2", "outputs/a.txt", "outputs/folder/deep/b.txt", "outputs/stream.bin"]
    assert run.get_file_names() == names
    with pytest.raises(ServiceException, match=r"outputs/a\.txt"):
        run.upload_file("outputs/a.txt", "a.txt")
    with pytest.raises(TypeError):
        run.upload_files(["x"], [])
    for wrong in ("/etc/x", "../x", "."):
        with pytest.raises(UserErrorException):
            run.upload_file(wrong, "a.txt")
    with pytest.raises(UserErrorException, match="nowhere"):
        run.upload_file("x", "nowhere")

    elsewhere = project / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    run.download_file("outputs/a.txt")
    run.download_file("outputs/a.txt", "sub/renamed.txt")
    run.download_file("outputs/stream.bin", "sub")
    run.download_files(prefix="outputs/folder", output_directory="kept")
    run.download_files(prefix="outputs/folder", output_directory="cut", append_prefix=False)
    assert sorted(str(p.relative_to(elsewhere)) for p in elsewhere.rglob("*") if p.is_file()) == [
        "a.txt", "cut/deep/b.txt", "kept/outputs/folder/deep/b.txt", "sub/renamed.txt", "sub/stream.bin",
    ]  # fmt: skip
    assert Path("sub/stream.bin").read_bytes() == b"stream"
    with pytest.raises(UserErrorException, match=r"outputs/a\.txt"):
        run.download_file("outputs/nowhere")
    with pytest.raises(UserErrorException, match="nowhere"):
        run.download_files(prefix="nowhere")
    run.download_files(prefix="more/", output_paths=["one", "two"])
    assert Path("two").read_text() == "a"
    run.complete()


def test_tags_properties_and_names_are_stored(experiment: Experiment):
    run = start(experiment, display_name="shown", name="named")
    run.tag("quick")
    run.tag("number", 3)
    run.set_tags({"a": "b", "quick": None})
    assert run.get_tags() == {"quick": None, "number": "3", "a": "b"} == run.tags
    run.remove_tags(["a"])
    assert "a" not in run.get_tags()
    run.add_properties({"author": "me"})
    run.add_properties({"author": "me"})
    with pytest.raises(AzureMLException, match="author"):
        run.add_properties({"author": "you"})
    assert run.get_properties()["author"] == "me"
    assert (run.display_name, run.name, run.type) == ("shown", "named", None)
    run.display_name, run.description = "other", "words"
    again = Run(experiment, run.id)
    assert (again.display_name, again.description, again.number) == ("other", "words", run.number)
    assert str(run).startswith(f"Run(Experiment: interactive,\nId: {run.id},\nType: None,\nStatus: Running")
    assert run.id in run._repr_html_() and run.get_portal_url().endswith(run.id)
    assert [r.id for r in experiment.get_runs(tags="quick")] == [run.id]
    assert [r.id for r in experiment.get_runs(tags={"number": 3}, properties={"author": "me"})] == [run.id]
    assert list(experiment.get_runs(tags={"number": 4})) == []
    run.complete()
    assert run.story()[0].event and run.get_details()["endTimeUtc"]


def test_lists_are_generators_across_pages(experiment: Experiment):
    parent = start(experiment)
    children = [child for _ in range(2) for child in parent.create_children(count=60)]
    listed = parent.get_children()
    assert next(listed).id and len(list(listed)) == 119
    assert [r.id for r in experiment.get_runs()] == [parent.id]
    assert len(list(Run.list(experiment, include_children=True))) == 121
    assert len(list(Run.list(experiment, include_children=True, status="Running"))) == 121
    assert {c.tags["azureml.batch_child_number"] for c in children} == {str(i) for i in range(60)}
    parent.cancel()
    assert parent.get_status() == "Canceled" and {c.get_status() for c in children} == {"Canceled"}


def test_children_are_created_and_listed(experiment: Experiment):
    parent = start(experiment, name="top")
    with parent.child_run("first") as child:
        child.log("m", 1)
        with child.child_run() as grandchild:
            grandchild.log("m", 2)
    assert child.name == "top>first" and child.get_status() == grandchild.get_status() == "Completed"
    assert child.parent is not None and child.parent.id == parent.id and parent.parent is None
    tagged = parent.create_children(tag_key="fold", tag_values=["a", "b"])
    assert [c.tags for c in tagged] == [{"fold": "a"}, {"fold": "b"}]
    for wrong in ({}, {"count": 1, "tag_key": "x"}, {"count": 101}, {"tag_key": "x"}, {"count": 0}):
        with pytest.raises(UserErrorException):
            parent.create_children(**wrong)  # type: ignore[arg-type]
    assert {c.id for c in parent.get_children()} == {child.id, *(c.id for c in tagged)}
    assert grandchild.id in {c.id for c in parent.get_children(recursive=True)}
    assert [c.id for c in parent.get_children(tags={"fold": "b"})] == [tagged[1].id]
    assert parent.get_metrics(recursive=True) == {child.id: {"m": 1}, grandchild.id: {"m": 2}}
    for c in tagged:
        c.complete()
    parent.complete()


def test_script_may_change_its_working_directory(experiment: Experiment, project: Path):
    (project / "elsewhere").mkdir()
    with start(experiment) as run, pytest.MonkeyPatch.context() as patch:
        Path("outputs/model.txt").write_text("model")
        patch.chdir(project / "elsewhere")
        print("from elsewhere")
        run.complete()
    assert run.get_file_names() == ["logs/user_log.txt", "outputs/model.txt"]


def test_with_captures_output_and_outputs_folder(experiment: Experiment, project: Path):
    (project / "code.py").write_text("x = 1\n")
    with experiment.start_logging() as run:
        print("hello from the block")
        print("and an error", file=sys.stderr)
        run.log("m", 1.5)
        Path("outputs/model.txt").write_text("model")
        run.upload_file("outputs/model.txt", "code.py")
        assert run.get_status() == "Running"
    assert run.get_status() == "Completed"
    assert {"logs/user_log.txt", "outputs/model.txt"} <= set(run.get_file_names())
    assert run.get_details_with_logs()["logFiles"]["logs/user_log.txt"] == "hello from the block\nand an error\n"
    run.download_file("outputs/model.txt", "back.txt")
    assert Path("back.txt").read_text() == "x = 1\n", "what was uploaded by hand stays"
    assert run.get_snapshot_id() == run.get_properties()["ContentSnapshotId"]
    with pytest.raises(SnapshotException, match="already"):
        run.take_snapshot(".")


def test_with_ends_the_run_as_the_block_ends(experiment: Experiment):
    with pytest.raises(ZeroDivisionError), start(experiment) as run:
        raise ZeroDivisionError("of its own")
    assert run.get_status() == "Failed"
    error = run.get_details()["error"]["error"]
    assert "ZeroDivisionError" in error["message"] and "test_with_ends" in error["debugInfo"]["stackTrace"]
    with start(experiment) as run:
        sys.exit(0)
    assert run.get_status() == "Completed"
    with pytest.raises(SystemExit), start(experiment) as run:
        sys.exit(3)
    assert run.get_status() == "Failed"
    with start(experiment) as run:
        run.fail("by hand", "MyCode")
    assert run.get_status() == "Failed"
    assert run.get_details()["error"]["error"] | {"hint": 0} == {"code": "MyCode", "message": "by hand", "hint": 0}
    with pytest.raises(TypeError):
        start(experiment).fail(5)  # type: ignore[arg-type]


def test_ending_twice_is_harmless(experiment: Experiment):
    run = start(experiment)
    run.complete()
    run.complete()
    with pytest.raises(ServiceException, match="has ended"):
        run.fail("too late")
    run.cancel()
    assert run.get_status() == "Completed"
    assert run.wait_for_completion()["status"] == "Completed"


LOGS_AND_WAITS = """
import sys, time
from footplate import Experiment, Workspace
run = Experiment(Workspace.from_config(), "killed").start_logging(snapshot_directory=None).__enter__()
for i in range(1000):
    run.log("m", i * 0.5)
run.log("last", "word")
print("printed", flush=True)
sys.__stdout__.write(run.id + "\\n"); sys.__stdout__.flush()
time.sleep(60)
"""


def test_metrics_of_a_killed_client_are_shipped_by_the_next_one(workspace: Workspace, home: Path):
    process = subprocess.Popen([sys.executable, "-c", LOGS_AND_WAITS], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    lines = [process.stdout.readline().strip() for _ in range(2)]
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    run_id = lines[1]
    assert os.path.isdir(home / "spool" / run_id)
    code = f"from footplate import Workspace; print(Workspace.from_config().get_run({run_id!r}).get_metrics())"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not os.path.exists(home / "spool" / run_id)
    run = workspace.get_run(run_id)
    found = run.get_metrics()
    assert found == {"m": [i * 0.5 for i in range(1000)], "last": "word"} and str(found["m"][:2])[:-1] in shown
    assert "printed" in run.get_details_with_logs()["logFiles"]["logs/user_log.txt"]
    wait_until(lambda: run.get_status() == "Failed")
    assert f"the process is gone: process {process.pid} ended" in str(run.get_details()["error"])


FORKS = """
import os
from footplate import Experiment, Workspace
run = Experiment(Workspace.from_config(), "forks").start_logging(snapshot_directory=None)
run.log("m", 0.5)
pid = os.fork()
if pid == 0:
    run.log("m", 1.5)
    os._exit(0)
os.waitpid(pid, 0)
run.log("m", 2.5)
print(run.id)
"""


def test_client_that_forks_and_never_completes_loses_nothing(workspace: Workspace, home: Path):
    done = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, check=True)
    run = workspace.get_run(done.stdout.strip())
    assert run.get_metrics() == {"m": [0.5, 1.5, 2.5]} and run.get_status() == "Running"
    assert not list((home / "spool").glob("*/*")), textwrap.shorten(done.stderr, 500)
    run.cancel()


def test_metrics_reach_the_server_during_the_run(experiment: Experiment, workspace: Workspace):
    run = start(experiment)
    run.log("m", 1.0)
    (metric,) = wait_until(lambda: workspace.session.api.metrics.read(run.id)[run.id])
    assert metric.points[0][2] == 1.0
    run.complete()
