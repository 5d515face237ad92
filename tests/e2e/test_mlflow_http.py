"""MLflow's own client, unmodified: what it logs over HTTP, what it reads back, and what Azure's classes see of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mlflow
import mlflow.sklearn as sklearn_flavor
import pytest
from mlflow import MlflowClient
from mlflow.artifacts import download_artifacts, load_text
from mlflow.exceptions import MlflowException
from sklearn.linear_model import LogisticRegression

from footplate import Model, Workspace
from footplate.api import ApiClient
from footplate.client import home as homes
from footplate.client.transport import Transport
from footplate.testing.waiting import wait_until

NAME = "over-http"
TOKEN = "a-token-of-this-test"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a server with a workspace; return its address for MLflow's clients, which find the token in a variable."""
    folder = tmp_path_factory.mktemp("team")
    (folder / "secret").write_text(TOKEN)
    (folder / "secret").chmod(0o600)
    argv = ["-m", "footplate.server", "--home", str(folder / "h"), "--host", "127.0.0.1", "--port", "0"]
    server = subprocess.Popen([sys.executable, *argv, "--token-file", str(folder / "secret")])
    try:
        wait_until(lambda: server.poll() is not None or (folder / "h" / "server.json").exists())
        record = homes.read_record(str(folder / "h"))
        assert record is not None
        ApiClient(Transport(record["url"], TOKEN)).workspaces.create(NAME, "s", "g")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MLFLOW_TRACKING_TOKEN", TOKEN)
            yield f"{record['url']}/mlflow/{NAME}"
    finally:
        server.terminate()
        server.wait(timeout=120)


@pytest.fixture
def client(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MlflowClient]:
    monkeypatch.chdir(tmp_path)
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(address)
    mlflow.set_experiment("trials")
    yield MlflowClient()
    mlflow.set_tracking_uri(before)


def test_a_training_loop_is_logged_and_read_back(client: MlflowClient) -> None:
    with mlflow.start_run(run_name="outer") as outer:
        mlflow.log_params({"rate": 0.1, "depth": 4})
        for step in range(3):
            mlflow.log_metric("loss", 1 / (step + 1), step=step)
        mlflow.log_metrics({"acc": 0.5, "bad": float("nan")}, step=7)
        mlflow.set_tags({"team": "risk"})
        mlflow.log_text("a note", "notes/note.txt")
        mlflow.log_dict({"a": 1}, "config.json")
        with mlflow.start_run(nested=True, run_name="inner"):
            mlflow.log_metric("inner", 1)
    run = client.get_run(outer.info.run_id)
    assert (run.info.status, run.info.run_name) == ("FINISHED", "outer")
    assert run.data.params == {"rate": "0.1", "depth": "4"}
    assert run.data.metrics["loss"] == 1 / 3
    assert run.data.metrics["bad"] != run.data.metrics["bad"]
    history = client.get_metric_history(run.info.run_id, "loss")
    assert [(each.step, each.value) for each in history] == [(0, 1.0), (1, 0.5), (2, 1 / 3)]
    assert [file.path for file in client.list_artifacts(run.info.run_id)] == ["config.json", "notes"]
    assert load_text(f"runs:/{run.info.run_id}/notes/note.txt") == "a note"
    children = mlflow.search_runs(filter_string=f"tags.mlflow.parentRunId = '{run.info.run_id}'", output_format="list")
    assert [child.info.run_name for child in children] == ["inner"]
    with pytest.raises(MlflowException, match="Changing param values is not allowed"):
        client.log_param(run.info.run_id, "rate", 0.2)
    with mlflow.start_run(run_id=run.info.run_id):
        mlflow.log_metric("loss", 0.0, step=3)
    assert client.get_run(run.info.run_id).data.metrics["loss"] == 0.0


def test_a_model_is_logged_registered_and_loaded(client: MlflowClient) -> None:
    inputs, labels = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    trained = LogisticRegression().fit(inputs, labels)
    with mlflow.start_run() as started:
        logged = sklearn_flavor.log_model(
            trained, name="net", serialization_format="cloudpickle", pip_requirements=[], registered_model_name="shop"
        )
    client.set_registered_model_alias("shop", "best", "1")
    for uri in (logged.model_uri, f"runs:/{started.info.run_id}/net", "models:/shop/1", "models:/shop@best"):
        loaded: Any = sklearn_flavor.load_model(uri)
        assert (loaded.predict(inputs) == trained.predict(inputs)).all()
    models = mlflow.search_logged_models(filter_string="name = 'net'", output_format="list")
    assert [(each.model_id, each.source_run_id) for each in models] == [(logged.model_id, started.info.run_id)]
    outputs = client.get_run(started.info.run_id).outputs
    assert outputs is not None
    assert [each.model_id for each in outputs.model_outputs] == [logged.model_id]


def test_azures_classes_see_what_mlflow_has_logged(
    client: MlflowClient, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mlflow.start_run() as started:
        mlflow.log_metric("seen", 1.5)
        mlflow.log_text("x", "outputs/x.txt")
    monkeypatch.setenv("FOOTPLATE_TOKEN", TOKEN)
    workspace = Workspace.get(NAME, subscription_id="s", resource_group="g", server=address.partition("/mlflow/")[0])
    run = workspace.get_run(started.info.run_id)
    assert run.get_metrics() == {"seen": 1.5}
    assert run.get_file_names() == ["outputs/x.txt"]
    run.tag("checked", "yes")
    assert client.get_run(run.id).data.tags["checked"] == "yes"
    run.register_model("from-azure", model_path="outputs/x.txt")
    assert Path(download_artifacts("models:/from-azure/1")).exists()
    assert Model(workspace, "from-azure").run_id == run.id


def test_the_client_transfers_large_files_in_parts(
    client: MlflowClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_ENABLE_PROXY_MULTIPART_UPLOAD", "true")
    monkeypatch.setenv("MLFLOW_MULTIPART_UPLOAD_MINIMUM_FILE_SIZE", str(6 << 20))
    monkeypatch.setenv("MLFLOW_MULTIPART_UPLOAD_CHUNK_SIZE", str(5 << 20))
    content = os.urandom(12 << 20)
    (tmp_path / "large.bin").write_bytes(content)
    with mlflow.start_run() as started:
        mlflow.log_artifact(str(tmp_path / "large.bin"))
    path = download_artifacts(f"runs:/{started.info.run_id}/large.bin", dst_path=str(tmp_path / "back"))
    assert Path(path).read_bytes() == content


def test_mlflow_prints_the_variables_of_the_laptops_own_server(home: Path) -> None:
    variables = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    subprocess.run([sys.executable, "-m", "footplate", "init", "laptop"], env=variables, cwd=home, check=True)
    argv = [sys.executable, "-m", "footplate", "mlflow", "--json"]
    printed = subprocess.run(argv, env=variables, cwd=home, check=True, capture_output=True, text=True)
    names = json.loads(printed.stdout)
    assert names["MLFLOW_TRACKING_URI"].startswith("http://127.0.0.1:")
    script = "import mlflow\nwith mlflow.start_run():\n    mlflow.log_metric('m', 1)\nprint(len(mlflow.search_runs()))"
    done = subprocess.run(
        [sys.executable, "-c", script], env={**variables, **names}, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "1"
