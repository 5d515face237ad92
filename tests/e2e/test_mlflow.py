"""MLflow itself in jobs and beside them: its runs are runs of the workspace."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mlflow
import pytest
from mlflow.artifacts import download_artifacts
from mlflow.exceptions import MlflowException

from azureml.core import Environment, Experiment, Model, Run, ScriptRunConfig, Workspace
from azureml.mlflow import get_portal_url

pytestmark = pytest.mark.shared_home

JOB = """
import os
import mlflow
import mlflow.sklearn
from azureml.core import Run
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

for epoch in range(3):
    mlflow.log_metric("loss", 1 / (epoch + 1), step=epoch)
    mlflow.log_metric("unstepped", epoch)
mlflow.log_metric("bad", float("nan"))
Run.get_context().log("ours", 7)
for value in (5, 6, 7):
    Run.get_context().log("counted", value)
print("a line of the log")
mlflow.log_params({"rate": 0.001, "depth": 4})
mlflow.set_tag("team", "risk")
for text in ("old", "new"):
    with open("note.txt", "w") as file:
        file.write(text)
    mlflow.log_artifact("note.txt", "notes")
data = load_iris(return_X_y=True)
model = LogisticRegression(max_iter=500).fit(*data)
mlflow.sklearn.log_model(model, name="model", serialization_format="cloudpickle", pip_requirements=[])
run = mlflow.get_run(mlflow.active_run().info.run_id)
assert run.data.params["rate"] == "0.001" and run.data.metrics["loss"] == 1 / 3, run
assert [m.step for m in mlflow.MlflowClient().get_metric_history(run.info.run_id, "loss")] == [0, 1, 2]
with mlflow.start_run(nested=True, run_name="inner"):
    mlflow.log_metric("inner", 1)
version = mlflow.register_model(f"runs:/{run.info.run_id}/model", "iris")
assert (mlflow.sklearn.load_model(f"models:/iris/{version.version}").predict(data[0]) == model.predict(data[0])).all()
mlflow.end_run()
mlflow.sklearn.autolog(log_models=False)  # saving a model takes 10 s: MLflow imports it to find its requirements
with mlflow.start_run(run_name="automatic"):
    LogisticRegression(max_iter=321).fit(*data)
"""


def logged(run: Run) -> tuple[dict[str, Any], list[str]]:
    names = [name for name in run.get_file_names() if not name.startswith(("user_logs", "system_logs"))]
    return run.get_metrics(), names


def test_a_job_logs_metrics_parameters_files_and_models(ws: Workspace, here: Environment, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(JOB)
    config = ScriptRunConfig(str(tmp_path), "train.py", arguments=["--rate", "1e-3"], environment=here)
    run = Experiment(ws, "digits").submit(config)
    run.wait_for_completion()
    metrics, files = logged(run)
    assert metrics.pop("bad") != 0 and metrics == {
        "loss": [1.0, 1 / 2, 1 / 3], "unstepped": [0.0, 1.0, 2.0], "ours": 7, "counted": [5, 6, 7],
    }  # fmt: skip
    assert {"notes/note.txt", "model/MLmodel", "model/model.pkl"} <= set(files)
    run.download_file("notes/note.txt", str(tmp_path / "back.txt"))
    assert (tmp_path / "back.txt").read_text() == "new"
    assert run.get_tags()["team"] == "risk"
    assert ws.session.api.runs.get(run.id).parameters == {"rate": "0.001", "depth": "4"}
    client = mlflow.MlflowClient(ws.get_mlflow_tracking_uri())
    assert [(m.step, m.value) for m in client.get_metric_history(run.id, "counted")] == [(0, 5), (1, 6), (2, 7)]
    assert [m.step for m in client.get_metric_history(run.id, "unstepped")] == [0, 1, 2]
    (log,) = [file.path for file in client.list_artifacts(run.id, "user_logs")]
    assert "a line of the log" in Path(client.download_artifacts(run.id, log, str(tmp_path))).read_text()
    children = {child.display_name: child for child in run.get_children()}
    assert logged(children["inner"])[0] == {"inner": 1.0}
    assert children["automatic"].get_status() == "Completed"
    automatic, saved = logged(children["automatic"])
    assert automatic["training_accuracy_score"] > 0.9 and "estimator.html" in saved
    assert ws.session.api.runs.get(children["automatic"].id).parameters["max_iter"] == "321"
    assert Model(ws, "iris").run_id == run.id


AUTOMATIC = """
import mlflow
from sklearn.linear_model import LogisticRegression

mlflow.sklearn.autolog(log_models=False, log_datasets=False)
for strength in (1, 2):
    LogisticRegression(C=strength).fit([[0], [1]], [0, 1])
mlflow.log_metric("by hand", 0.5)
mlflow.end_run()
with mlflow.start_run():
    mlflow.log_metric("by hand", 3)
mlflow.log_param("by hand", 0.25)
mlflow.log_metric("by hand", 0.125)
"""


AS_WITH_AZUREML_MLFLOW = "import os; os.environ['MLFLOW_RUN_ID'] = os.environ['AZUREML_RUN_ID']\n"


@pytest.mark.parametrize("beginning", ["", AS_WITH_AZUREML_MLFLOW])
def test_after_autologging_a_job_logs_to_its_own_run(
    ws: Workspace, here: Environment, tmp_path: Path, beginning: str
) -> None:
    (tmp_path / "train.py").write_text(beginning + AUTOMATIC)
    run = Experiment(ws, "automatic").submit(ScriptRunConfig(str(tmp_path), "train.py", environment=here))
    run.wait_for_completion()
    metrics, parameters = logged(run)[0], ws.session.api.runs.get(run.id).parameters
    assert (metrics["training_accuracy_score"], metrics["by hand"]) == (1.0, [0.5, 0.125])
    assert (parameters["C"], parameters["by hand"]) == ("1", "0.25")
    second_start, second_fit = run.get_children()
    assert logged(second_start)[0] == {"by hand": 3.0}
    assert ws.session.api.runs.get(second_fit.id).parameters["C"] == "2"


@pytest.fixture
def tracked(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> Iterator[mlflow.MlflowClient]:
    """Let MLflow keep its runs in the workspace, until the end of the test."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
    mlflow.set_tracking_uri(ws.get_mlflow_tracking_uri())
    mlflow.set_experiment("notebook")
    yield mlflow.MlflowClient()
    mlflow.end_run()
    mlflow.set_tracking_uri(None)  # type: ignore[arg-type]


def test_a_notebook_starts_runs_of_the_experiment(ws: Workspace, tracked: mlflow.MlflowClient, tmp_path: Path) -> None:
    with mlflow.start_run(run_name="first", description="a try", tags={"k": "v"}) as started:
        mlflow.log_metrics({"loss": 0.5, "accuracy": 0.9}, step=1)
        mlflow.log_param("rate", 0.1)
        mlflow.log_text("hello", "notes/a.txt")
    with pytest.raises(ZeroDivisionError), mlflow.start_run(run_name="second"):
        mlflow.log_param("rate", 0.2)
        _ = 1 / 0
    (second, first) = Experiment(ws, "notebook").get_runs()
    assert (first.id, first.display_name, first.description) == (started.info.run_id, "first", "a try")
    assert (first.get_status(), second.get_status()) == ("Completed", "Failed")
    assert logged(first) == ({"loss": 0.5, "accuracy": 0.9}, ["notes/a.txt"])
    assert first.get_tags()["k"] == "v" and get_portal_url(started) == first.get_portal_url()
    found = mlflow.search_runs(filter_string="params.rate = '0.1' and metrics.loss < 1", output_format="list")
    assert [run.info.run_id for run in found] == [first.id]
    assert [file.path for file in tracked.list_artifacts(first.id, "notes")] == ["notes/a.txt"]
    copy = download_artifacts(run_id=first.id, artifact_path="notes", dst_path=str(tmp_path))
    assert (Path(copy) / "a.txt").read_text() == "hello"
    tracked.delete_run(second.id)
    assert [run.info.run_id for run in mlflow.search_runs(output_format="list")] == [first.id]


def test_experiments_and_models_are_those_of_the_workspace(ws: Workspace, tracked: mlflow.MlflowClient) -> None:
    made = Experiment(ws, "from-the-sdk")
    known = tracked.get_experiment_by_name("from-the-sdk")
    assert known is not None and known.experiment_id == made.id
    names = [each.name for each in tracked.search_experiments(filter_string="name LIKE 'from%'")]
    assert names == ["from-the-sdk"] and tracked.get_experiment_by_name("unknown") is None
    with mlflow.start_run() as run:
        mlflow.log_text("weights", "net/weights.txt")
    source = f"{run.info.artifact_uri}/net"
    for number in (1, 2):
        version = tracked.create_model_version("net", source, run.info.run_id, tags={"n": str(number)})
        assert version.version == str(number)
    assert [each.version for each in tracked.search_model_versions("name = 'net'")] == ["2", "1"]
    assert [each.name for each in tracked.search_registered_models()] == ["net"]
    assert Model(ws, "net").tags == {"n": "2"}
    folder = download_artifacts("models:/net/1")
    assert (Path(folder) / "weights.txt").read_text() == "weights"


def test_an_alias_names_a_version_of_a_model(ws: Workspace, tracked: mlflow.MlflowClient) -> None:
    for number in (1, 2):
        with mlflow.start_run() as run:
            mlflow.log_text(f"weights {number}", "net/weights.txt")
        tracked.create_model_version("net", f"{run.info.artifact_uri}/net", run.info.run_id)
    tracked.set_registered_model_alias("net", "champion", "1")
    tracked.set_registered_model_alias("net", "champion", "2")
    tracked.set_registered_model_alias("net", "challenger", "1")
    assert tracked.get_registered_model("net").aliases == {"champion": "2", "challenger": "1"}
    assert tracked.get_model_version("net", "2").aliases == ["champion"]
    assert tracked.get_model_version_by_alias("net", "champion").version == "2"
    folder = download_artifacts("models:/net@champion")
    assert (Path(folder) / "weights.txt").read_text() == "weights 2"
    tracked.delete_registered_model_alias("net", "champion")
    with pytest.raises(MlflowException, match="model 'net' has no alias 'champion'") as missing:
        tracked.get_model_version_by_alias("net", "champion")
    assert missing.value.error_code == "RESOURCE_DOES_NOT_EXIST"
    assert Model(ws, "net", version=1).tags == {}
    with pytest.raises(MlflowException, match="'a b' cannot be an alias of a model"):
        registry = tracked._get_registry_client().store  # the client checks names itself
        registry.set_registered_model_alias("net", "a b", "1")


def test_errors_name_the_reason(ws: Workspace, tracked: mlflow.MlflowClient) -> None:
    with pytest.raises(MlflowException, match="there is no run 'unknown'") as missing:
        tracked.get_run("unknown")
    assert missing.value.error_code == "RESOURCE_DOES_NOT_EXIST"
    with pytest.raises(MlflowException, match="does not answer MLflow's request UpdateExperiment"):
        tracked.rename_experiment(Experiment(ws, "notebook").id, "renamed")
    with pytest.raises(MlflowException, match="no run is active\nhint: log it inside"):
        mlflow.create_external_model(name="lonely")
    with pytest.raises(MlflowException, match=r"'/tmp/model' is not a model of a run"):
        tracked.create_model_version("net", "/tmp/model")


def test_a_script_finds_the_workspace_by_its_address_alone(ws: Workspace, tmp_path: Path) -> None:
    code = "import mlflow; mlflow.set_experiment('outside'); mlflow.log_metric('x', 2); mlflow.log_metric('x', 3)"
    script = tmp_path / "outside.py"
    script.write_text(textwrap.dedent(code))
    variables = {"MLFLOW_TRACKING_URI": ws.get_mlflow_tracking_uri()}
    subprocess.run(["env", *(f"{k}={v}" for k, v in variables.items()), sys.executable, script], check=True)
    (run,) = Experiment(ws, "outside").get_runs()
    assert (run.get_status(), run.get_metrics()) == ("Completed", {"x": [2.0, 3.0]})
