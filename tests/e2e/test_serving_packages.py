"""Packages of models, which serve without a server, and profiles, which measure models before they are deployed."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import urllib.request
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib
import pytest
from sklearn.linear_model import LogisticRegression

from azureml.core import Dataset, Environment, Model, Workspace
from azureml.core.model import InferenceConfig
from azureml.core.webservice import Webservice
from azureml.exceptions import UserErrorException, WebserviceException
from footplate.testing.waiting import wait_until
from support.images import ENGINE

pytestmark = pytest.mark.shared_home

SCORE = """
import json, os
from azureml.core.model import Model
from helper import FACTOR

def init():
    global model
    model = int(open(Model.get_model_path("number")).read())

def run(data):
    return json.loads(data)["x"] * model * FACTOR * int(os.environ["TIMES"])
"""


@pytest.fixture
def number(workspace: Workspace, tmp_path: Path) -> Model:
    (tmp_path / "number.txt").write_text("7")
    return Model.register(workspace, str(tmp_path / "number.txt"), "number")


def scoring(folder: Path, environment: Environment | None = None) -> InferenceConfig:
    folder.mkdir(exist_ok=True)
    (folder / "score.py").write_text(SCORE)
    (folder / "helper.py").write_text("FACTOR = 2\n")
    return InferenceConfig("score.py", source_directory=str(folder), environment=environment)


def environment_of(folder: Path) -> Environment:
    (folder / "requirements.txt").write_text("six==1.17.0\n")
    made = Environment.from_pip_requirements("packaged", str(folder / "requirements.txt"))
    made.environment_variables = {"TIMES": "3"}
    return made


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def post(port: int, body: Any) -> Any:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/score", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


def serves(command: list[str], variables: dict[str, str]) -> None:
    """Start a server, check its answer, stop it, and check that it ends well."""
    port = free_port()
    arguments = [*command, "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(arguments, env={**os.environ, **variables})

    def answers() -> bool:
        try:
            return post(port, {"x": 1}) == 42
        except OSError:
            assert process.poll() is None
            return False

    try:
        wait_until(answers)
    finally:
        process.terminate()
        code = process.wait(60)
    assert code == 0


def test_a_saved_package_serves_without_a_server(workspace: Workspace, number: Model, tmp_path: Path) -> None:
    config = scoring(tmp_path / "code", environment_of(tmp_path))
    package = Model.package(workspace, [number], config, generate_dockerfile=True)
    package.wait_for_creation(show_output=True)
    folder = tmp_path / "package"
    package.save(str(folder))
    assert (package.state, package.location) == ("Succeeded", str(folder))
    assert (folder / "requirements.txt").read_text() == "six==1.17.0\n"
    lines = (folder / "Dockerfile").read_text().splitlines()
    assert any('uv venv --python "3.' in line for line in lines)
    command = json.loads(next(line for line in lines if line.startswith("CMD"))[4:])
    command = [str(folder) if word == "/var/azureml-app" else word for word in command[1:-1]]
    serves([sys.executable, *command, sys.executable], {"PYTHONPATH": str(folder / "runtime")})
    with pytest.raises(WebserviceException, match="is not empty"):
        package.save(str(folder))
    with pytest.raises(WebserviceException, match="is a folder with a Dockerfile"):
        package.pull()


def test_a_package_without_code_pins_the_framework(workspace: Workspace, tmp_path: Path) -> None:
    joblib.dump(LogisticRegression().fit([[0.0], [1.0]], [0, 1]), tmp_path / "m.pkl")
    model = Model.register(workspace, str(tmp_path / "m.pkl"), "m", model_framework=Model.Framework.SCIKITLEARN)
    Model.package(workspace, [model], generate_dockerfile=True).save(str(tmp_path / "package"))
    assert f"scikit-learn=={version('scikit-learn')}\n" in (tmp_path / "package" / "requirements.txt").read_text()
    assert (tmp_path / "package" / "azureml-models" / "m" / "1" / "m.pkl").is_file()
    assert not (tmp_path / "package" / "source").exists()


def test_an_environment_that_no_image_can_have_is_refused(workspace: Workspace, number: Model, tmp_path: Path) -> None:
    with pytest.raises(WebserviceException, match="is an interpreter of this machine"):
        Model.package(workspace, [number], scoring(tmp_path / "code"), generate_dockerfile=True)
    made = environment_of(tmp_path)
    made.python.conda_dependencies.add_conda_package("libsvm")
    with pytest.raises(WebserviceException, match="has conda packages"):
        Model.package(workspace, [number], scoring(tmp_path / "code", made), generate_dockerfile=True)


@pytest.mark.slow
@pytest.mark.root
def test_a_built_image_serves_in_a_container(
    workspace: Workspace, number: Model, python_image: str, tmp_path: Path
) -> None:
    made = environment_of(tmp_path)
    made.docker.base_image = python_image
    config = scoring(tmp_path / "code", made)
    package = Model.package(workspace, [number], config, image_name="localhost/packaged", image_label="1")
    assert (package.state, package.location) == ("Succeeded", "localhost/packaged:1"), package.get_logs()
    try:
        asked = [ENGINE, "image", "inspect", "--format", "{{json .Config.Cmd}}", "localhost/packaged:1"]
        command = json.loads(subprocess.run(asked, check=True, capture_output=True).stdout)
        serves([ENGINE, "run", "--rm", "--network", "host", "localhost/packaged:1", *command], {})
    finally:
        subprocess.run([ENGINE, "rmi", "localhost/packaged:1"], check=True, capture_output=True)


def test_an_image_is_built_by_the_engine_of_the_machine(
    workspace: Workspace, number: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = scoring(tmp_path / "code", environment_of(tmp_path))
    engines = tmp_path / "engines"
    engines.mkdir()
    monkeypatch.setenv("PATH", str(engines))
    with pytest.raises(WebserviceException, match="neither podman nor docker"):
        Model.package(workspace, [number], config)
    engine = engines / "docker"
    last = "for last; do :; done"
    engine.write_text(f'#!/bin/sh\n{last}\n[ "$1" = version ] || [ -f "$last/Dockerfile" ] && echo "$1 $2 $3"\n')
    engine.chmod(0o755)
    package = Model.package(workspace, [number], config, image_name="mine", image_label="1")
    package.pull()
    assert (package.location, package.get_logs()) == ("mine:1", "build -t mine:1\n")
    engine.write_text("#!/bin/sh\n[ $1 = version ] && exit\necho no space left; exit 1\n")
    with pytest.raises(WebserviceException, match="no space left"):
        Model.package(workspace, [number], config)


def test_a_profile_measures_and_recommends_resources(
    workspace: Workspace, number: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "score.py").write_text("import json\ndef run(data):\n return json.loads(data)['x'] + 1\n")
    config = InferenceConfig("score.py", source_directory="code")
    (tmp_path / "requests.csv").write_text('request\n"{""x"": 1}"\n"{""x"": 2}"\n')
    workspace.get_default_datastore().upload_files(["requests.csv"], target_path="samples")
    samples = Dataset.Tabular.from_delimited_files((workspace.get_default_datastore(), "samples/requests.csv"))
    profile = Model.profile(workspace, "first", [number], config, samples, cpu=1, memory_in_gb=4)
    profile.wait_for_completion(show_output=True)
    details = profile.get_details()
    assert (details["state"], details["requestedCpu"], details["requestedMemoryInGB"]) == ("Succeeded", 1, 4)
    assert details["totalQueries"] == details["successQueries"] >= 100
    assert 0 < details["latencyPercentile50InMs"] <= details["latencyPercentile99InMs"]
    assert 0 < details["maxUtilizedMemoryInGB"] < details["recommendedMemoryInGB"] < 4
    assert 0 < details["maxUtilizedCpu"] < details["recommendedCpu"] < 3
    failed = Model.profile(workspace, "second", [number], config, '{"y": 1}').get_details()
    assert failed["state"] == "Failed" and "KeyError" in failed["error"]
    with pytest.raises(UserErrorException, match="input_dataset is None"):
        Model.profile(workspace, "third", [number], config)
    assert Webservice.list(workspace) == []
