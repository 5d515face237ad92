"""Scripts submitted with the SDK, on the real server with real agents and ranks."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import zipfile
from pathlib import Path

import pytest

from azureml.core.run import Run as AzureRun
from azureml.core.run import _OfflineRun
from azureml.exceptions import RunEnvironmentException
from footplate import (
    ActivityFailedException,
    AmlCompute,
    ComputeTarget,
    Environment,
    Experiment,
    ExperimentExecutionException,
    Model,
    ModelPathNotFoundException,
    Run,
    RunDetails,
    ScriptRun,
    ScriptRunConfig,
    ServiceException,
    UserErrorException,
    WebserviceException,
    Workspace,
)
from footplate.content.blobs import hash_file
from footplate.testing.waiting import wait_until

pytestmark = pytest.mark.shared_home

INTERPRETERS = Path.home() / ".pyenv" / "versions"


@pytest.fixture
def experiment(workspace: Workspace) -> Experiment:
    return Experiment(workspace, "train")


def script(project: Path, code: str, name: str = "train.py") -> ScriptRunConfig:
    source = project / "source"
    source.mkdir(exist_ok=True)
    (source / name).write_text(textwrap.dedent(code))
    return ScriptRunConfig(source_directory=str(source), script=name)


def interpreters() -> list[str]:
    """Return the oldest and the newest available interpreter for jobs; nothing of ours is installed in them."""
    found = {file.parents[1].name: str(file) for file in INTERPRETERS.glob("3.*/bin/python")}
    versions = sorted((v for v in found if _parts(v)[:2] >= (3, 8)), key=_parts)
    return [found[v] for v in {versions[0]: 0, versions[-1]: 0}] if versions else [sys.executable]


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def test_whole_loop_works(experiment: Experiment, project: Path, capsys: pytest.CaptureFixture[str]):
    config = script(
        project,
        """
        import argparse, os, pathlib
        from azureml.core import Run
        parser = argparse.ArgumentParser()
        parser.add_argument("--lr", type=float)
        parser.add_argument("--who")
        arguments = parser.parse_args()
        run = Run.get_context()
        print("rate", arguments.lr, "run", arguments.who)
        for step in range(3):
            run.log("loss", 1.0 / (step + 1))
        run.log("accuracy", 0.9)
        pathlib.Path("outputs/model").mkdir()
        pathlib.Path("outputs/model/weights.bin").write_text("weights")
        pathlib.Path("logs/extra.txt").write_text("extra")
        print(os.environ["MY_OWN"], sorted(os.listdir(".")))
        """,
    )
    config.arguments = ["--lr", 0.5, "--who", "$AZUREML_RUN_ID"]
    config.run_config.environment_variables["MY_OWN"] = "variable"
    before = time.time()
    run = experiment.submit(config, tags={"try": 1})
    assert type(run) is ScriptRun and run.type == "azureml.scriptrun" and run.tags == {"try": "1"}
    assert run.id.startswith(f"train_{int(before) // 100}") and len(run.id.rsplit("_", 1)[1]) == 8

    details = run.wait_for_completion(show_output=True)
    shown = capsys.readouterr().out
    assert shown.startswith(f"RunId: {run.id}\nShow it with: footplate runs show {run.id}\n")
    assert "Streaming user_logs/std_log.txt\n===============================\n" in shown
    assert f"rate 0.5 run {run.id}\n" in shown and "variable ['logs', 'outputs', 'train.py']" in shown
    assert shown.index("\nExecution Summary\n=================\n") > shown.index("rate 0.5")
    assert details["status"] == "Completed" and details["runId"] == run.id and details["target"] == "local"
    assert details["runDefinition"]["arguments"] == ["--lr", "0.5", "--who", "$AZUREML_RUN_ID"]
    assert details["startTimeUtc"] <= details["endTimeUtc"] and "error" not in details
    assert run.get_metrics() == {"loss": [1.0, 0.5, 1.0 / 3], "accuracy": 0.9}
    assert {"outputs/model/weights.bin", "logs/extra.txt", "user_logs/std_log.txt"} <= set(run.get_file_names())
    assert "rate 0.5" in run.get_details_with_logs()["logFiles"]["user_logs/std_log.txt"]
    logs = run.get_all_logs(str(project / "all-logs"))
    assert any(Path(path).read_text().startswith("rate 0.5") for path in logs)
    assert run.get_environment().name == "default-environment"
    assert [line.status for line in run.story()][-1] == "Completed"
    assert run.get_detailed_status()["status"] == "Completed"

    zipped = run.restore_snapshot(path=str(project / "restored"))
    assert zipfile.ZipFile(zipped).namelist() == ["train.py"]
    assert run.get_properties()["ContentSnapshotId"] == run.get_snapshot_id()
    RunDetails(run).show()
    assert run.id in capsys.readouterr().out
    again = Run.get(experiment.workspace, run.id)
    assert type(again) is ScriptRun and again.get_metrics() == run.get_metrics()
    assert [r.id for r in experiment.get_runs(type="azureml.scriptrun")] == [run.id]


def test_models_go_from_the_run_to_the_disk(experiment: Experiment, project: Path, monkeypatch: pytest.MonkeyPatch):
    workspace = experiment.workspace
    run = experiment.submit(
        script(
            project,
            """
            import os
            from azureml.core import Run
            from azureml.exceptions import ModelPathNotFoundException
            os.makedirs("outputs/model/deep")
            open("outputs/model/deep/a.txt", "w").write("a")
            open("outputs/one.txt", "w").write("one")
            run = Run.get_context()
            try:
                run.register_model("too-early", "outputs/one.txt")
            except ModelPathNotFoundException as error:
                print("refused:", error)
            run.upload_file("early/one.txt", "outputs/one.txt")
            model = run.register_model("inside", "early/one.txt")
            print("registered", model.id, model.run_id == run.id, model.experiment_name)
            """,
        )
    )
    run.wait_for_completion()
    log = run.get_details_with_logs()["logFiles"]["user_logs/std_log.txt"]
    assert "has no file or folder 'outputs/one.txt'" in log and "registered inside:1 True train" in log
    model = run.register_model(
        "folder", "./outputs/model", tags={"a": 1}, properties={"p": 1}, model_framework=Model.Framework.PYTORCH,
        model_framework_version="2.0", description="words",
    )  # fmt: skip
    assert (model.id, model.version, model.run_id, model.experiment_name) == ("folder:1", 1, run.id, "train")
    assert (model.tags, model.properties, model.model_framework) == ({"a": "1"}, {"p": "1"}, "PyTorch")
    assert model.run is not None and model.run.id == run.id
    with pytest.raises(ModelPathNotFoundException, match="nowhere"):
        run.register_model("x", "outputs/nowhere")
    single = run.register_model("single", model_path="outputs/one.txt")
    monkeypatch.chdir(project)
    assert single.download() == "./one.txt" and Path("one.txt").read_text() == "one"
    with pytest.raises(WebserviceException, match=r"one\.txt"):
        single.download()
    assert single.download(exist_ok=True) == "./one.txt"
    assert model.download("target") == "target/model" and Path("target/model/deep/a.txt").read_text() == "a"

    run.download_files("outputs", str(project / "source"))
    with pytest.warns(UserWarning, match=r"the snapshot has 2 files \(4 B\) in outputs/, which"):
        reader = experiment.submit(script(project, "print(open('outputs/one.txt').read())"))
    reader.wait_for_completion()
    assert not [name for name in reader.get_file_names() if name.startswith("outputs/")]
    with pytest.raises(ModelPathNotFoundException, match=r"outputs/one\.txt"):
        reader.register_model("not-its-own", "outputs/one.txt")
    shutil.rmtree(project / "source" / "outputs")

    second = Model.register(workspace, str(project / "source"), "folder", tags={"b": None})
    assert second.version == 2 and second.run is None
    assert Model(workspace, "folder").version == 2 and Model(workspace, id="folder:1").version == 1
    assert Model(workspace, "folder", tags=[["a", "1"]]).version == 1
    assert {m.id for m in Model.list(workspace, latest=True)} == {"folder:2", "inside:1", "single:1"}
    assert set(workspace.models) == {"folder", "inside", "single"}
    assert [m.id for m in Model.list(workspace, name="folder", tags=["b"])] == ["folder:2"]
    assert {m.id for m in Model.list(workspace, run_id=run.id)} == {"folder:1", "inside:1", "single:1"}
    with pytest.raises(WebserviceException, match="ModelNotFound") as caught:
        Model(workspace, "nowhere")
    assert "ModelNotFound" in caught.value.message
    second.add_tags({"c": 1})
    second.remove_tags(["b"])
    second.add_properties({"q": 1})
    with pytest.raises(WebserviceException, match="q"):
        second.add_properties({"q": 2})
    second.update(tags={"only": "this"}, description="new")
    assert Model(workspace, "folder").serialize()["tags"] == {"only": "this"} and second.description == "new"
    assert Model.get_model_path("single", _workspace=workspace) == "azureml-models/single/1/one.txt"
    assert Model.get_model_path("single") == "azureml-models/single/1/one.txt"
    with pytest.raises(FileNotFoundError):
        Model.register(workspace, "nowhere", "x")
    for wrong in ({"model_name": "no spaces"}, {"model_name": "x", "model_framework_version": "1"}):
        with pytest.raises(WebserviceException):
            Model.register(workspace, "one.txt", **wrong)  # type: ignore[arg-type]
    second.delete()
    assert Model(workspace, "folder").version == 1


@pytest.mark.parametrize("python", interpreters())
def test_job_works_with_nothing_installed(experiment: Experiment, project: Path, python: str):
    config = script(
        project,
        """
        import os
        import sys
        from azureml.core import Experiment, Run, Workspace
        from azureml.core.run import _OfflineRun
        run = Run.get_context()
        assert run is Run.get_context() is Run.get_submitted_run() and not isinstance(run, _OfflineRun)
        workspace = run.experiment.workspace
        assert workspace.get_run(run.id).id == run.id and run.parent is None
        with run:
            run.log("m", 0.5, step=3)
        run.log("n", 3)
        run.log_list("l", [1, 2])
        run.tag("from", "inside")
        run.add_properties({"p": "1"})
        run.flush()
        assert run.get_metrics() == {"m": 0.5, "n": 3, "l": [1, 2]}, run.get_metrics()
        with run.child_run("child") as child:
            child.log("c", 1.5)
        assert [c.id for c in run.get_children()] == [child.id]
        open("outputs/x.txt", "w").write("x")
        os.chdir("logs")
        run.complete()
        run.fail("only noted", "Code")
        run.cancel()
        run.log("after", 1.0)
        assert run.get_status() == "Running" and "outputs/x.txt" in run.get_file_names()
        outside = [m for m in ("numpy", "fastapi", "sqlalchemy", "click") if m in sys.modules]
        print("version", sys.version_info[:2], outside, workspace.name)
        """,
    )
    environment = Environment("old")
    environment.python.user_managed_dependencies = True
    environment.python.interpreter_path = python
    config.run_config.environment = environment
    run = experiment.submit(config)
    run.wait_for_completion()
    assert run.get_metrics() == {"m": 0.5, "n": 3, "l": [1, 2], "after": 1.0}
    assert run.get_tags() == {"from": "inside"} and run.get_properties()["p"] == "1"
    (child,) = run.get_children()
    assert child.get_metrics() == {"c": 1.5} and child.get_status() == "Completed"
    details = run.get_details_with_logs()
    assert [w["message"] for w in details["warnings"]] == ["Code: only noted"]
    assert "[] testing" in details["logFiles"]["user_logs/std_log.txt"]
    assert run.get_environment().name == "old"


def test_failure_is_explained(experiment: Experiment, project: Path):
    run = experiment.submit(script(project, "print('before')\nraise ValueError('too bad')\n"))
    with pytest.raises(ActivityFailedException) as caught:
        run.wait_for_completion()
    assert "ValueError" in caught.value.message and '"exitCode": 1' in caught.value.message
    error = run.get_details()["error"]["error"]
    assert error["debugInfo"]["type"] == "ValueError" and error["debugInfo"]["message"] == "too bad"
    assert "before" in error["lastLines"]
    assert run.wait_for_completion(raise_on_error=False)["status"] == "Failed"
    assert f"footplate runs logs {run.id}" in str(caught.value) or caught.value.hint


def test_cancel_is_not_an_error_and_waiting_runs_give_a_reason(experiment: Experiment, project: Path):
    workspace = experiment.workspace
    ComputeTarget.create(workspace, "one", AmlCompute.provisioning_configuration(vm_size="x", max_nodes=1))
    config = script(project, "import time\nprint('runs', flush=True)\ntime.sleep(60)\n")
    config.run_config.target = workspace.compute_targets["one"]
    first, second = experiment.submit(config), experiment.submit(config)
    wait_until(lambda: first.get_status() == "Running")
    assert "position 1" in second.get_detailed_status()["details"] and second.status == "Queued"
    with pytest.raises(ServiceException, match="managed by Footplate"):
        first.complete()
    second.cancel()
    assert second.wait_for_completion(show_output=True)["status"] == "Canceled"
    first.fail("enough")
    assert first.wait_for_completion(raise_on_error=False)["error"]["error"]["message"] == "enough"


def test_commands_and_children_are_submitted_and_others_rejected(experiment: Experiment, project: Path):
    script(project, "print('child')\n")
    source = str(project / "source")
    parent = experiment.start_logging(snapshot_directory=None, outputs=False)
    child = parent.submit_child(
        ScriptRunConfig(source, command="echo $AZUREML_ARM_PROJECT_NAME && python -c 'print(1 + 1)'"), tags={"a": "b"}
    )
    child.wait_for_completion()
    assert child.get_details_with_logs()["logFiles"]["user_logs/std_log.txt"] == "train\n2\n"
    assert [c.id for c in parent.get_children(tags={"a": "b"})] == [child.id]
    parent.complete()
    named = experiment.submit(ScriptRunConfig(source, "train.py"), run_id="my_own_id")
    assert named.id == "my_own_id" and named.wait_for_completion()["status"] == "Completed"
    with pytest.raises(ServiceException, match="my_own_id"):
        experiment.submit(ScriptRunConfig(source, command="ls"), run_id="my_own_id")
    with pytest.raises(UserErrorException, match="no_such"):
        experiment.submit(ScriptRunConfig(source, "train.py"), no_such=1)
    with pytest.raises(ExperimentExecutionException, match="nowhere"):
        experiment.submit(ScriptRunConfig(source, "train.py", compute_target="nowhere"))
    with pytest.raises(ExperimentExecutionException, match="source directory"):
        experiment.submit(ScriptRunConfig(str(project / "gone"), "train.py"))
    with pytest.raises(Exception, match="cannot be submitted"):
        experiment.submit(object())


def test_git_state_is_recorded(experiment: Experiment, project: Path):
    config = script(project, "print(1)\n")
    source = project / "source"
    git = ["git", "-C", str(source), "-c", "user.name=x", "-c", "user.email=x@x"]
    for command in (["init", "-q", "-b", "trunk"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *command], check=True)
    clean = experiment.submit(config)
    (source / "train.py").write_text("print(2)\n")
    dirty = experiment.submit(config)
    assert clean.properties["azureml.git.branch"] == clean.properties["mlflow.source.git.branch"] == "trunk"
    assert clean.properties["azureml.git.dirty"] == "False" and dirty.properties["azureml.git.dirty"] == "True"
    assert "system_logs/uncommitted.diff" not in clean.get_file_names()
    dirty.download_file("system_logs/uncommitted.diff", str(project / "diff"))
    assert "+print(2)" in (project / "diff").read_text()
    clean.wait_for_completion()
    dirty.wait_for_completion()


WAITS = """
import sys
from footplate import Workspace
try:
    Workspace.from_config().get_run(sys.argv[1]).wait_for_completion(show_output=True)
except Exception as error:
    print(type(error).__name__, error)
"""


def test_ctrl_c_leaves_the_run_running(experiment: Experiment, project: Path):
    run = experiment.submit(script(project, "import time\nprint('runs', flush=True)\ntime.sleep(3600)\n"))
    waiting = subprocess.Popen([sys.executable, "-c", WAITS, run.id], stdout=subprocess.PIPE, text=True)
    assert waiting.stdout is not None
    while waiting.stdout.readline().strip() != "runs":
        assert waiting.poll() is None
    os.kill(waiting.pid, signal.SIGINT)
    rest = waiting.communicate(timeout=120)[0]
    assert "ExperimentExecutionException" in rest and f"footplate runs cancel {run.id}" in rest
    assert run.get_status() == "Running"
    run.cancel()
    assert run.wait_for_completion()["status"] == "Canceled"


def test_run_is_offline_outside_a_job(project: Path):
    run = AzureRun.get_context()
    assert type(run) is _OfflineRun and run.id.startswith("OfflineRun_") and not hasattr(run, "experiment")
    with pytest.raises(RunEnvironmentException, match="AZUREML_RUN_ID"):
        AzureRun.get_context(allow_offline=False)


def test_resubmitting_a_source_heals_its_damaged_blob(project: Path, home: Path, experiment: Experiment) -> None:
    config = script(project, "print('right')")
    experiment.submit(config).wait_for_completion()
    digest, _ = hash_file(str(project / "source" / "train.py"))
    blob = home / "blobs" / digest[:2] / digest
    blob.chmod(0o644)
    blob.write_bytes(b"print('wrong')")
    failed = experiment.submit(config)
    with pytest.raises(ActivityFailedException, match=r"'train\.py' is damaged"):
        failed.wait_for_completion()
    healed = experiment.submit(config)
    healed.wait_for_completion()
    assert healed.get_details_with_logs()["logFiles"]["user_logs/std_log.txt"] == "right\n"
