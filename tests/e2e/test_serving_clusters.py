"""Web services on nodes that see neither the server's home nor its gateway, and that only call out."""

from __future__ import annotations

import concurrent.futures
import json
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from azureml.core import Environment, Model, Workspace
from azureml.core.model import InferenceConfig
from azureml.core.webservice import AksWebservice, Webservice
from footplate.testing.networks import Forwarder, PrivateNetwork

from .test_namespace_engine import Server, cluster, here, network, roots, server, workspace_there

__all__ = ["cluster", "here", "network", "roots", "server", "workspace_there"]  # fixtures

SCORE = """
import json, os

def init():
    global factor
    factor = int(open(os.path.join(os.environ["AZUREML_MODEL_DIR"], "number.txt")).read())
    print("started", os.environ["SERVICE_NAME"], flush=True)

def run(data):
    x = json.loads(data)["x"]
    if x == "end":
        os.kill(os.getpid(), 9)
    return {"result": x * factor, "pid": os.getpid(), "models": os.environ["AZUREML_MODEL_DIR"]}
"""


@pytest.fixture
def model(workspace_there: Workspace, tmp_path: Path) -> Model:
    (tmp_path / "number.txt").write_text("7")
    return Model.register(workspace_there, str(tmp_path / "number.txt"), "number")


@pytest.fixture
def script(tmp_path: Path, here: Environment) -> InferenceConfig:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "score.py").write_text(SCORE)
    return InferenceConfig("score.py", source_directory=str(tmp_path / "source"), environment=here)


class Client:
    """A client of the gateway, which listens only inside the network of the test."""

    def __init__(self, home: Path, network: PrivateNetwork, name: str) -> None:
        self._home, self._name = home, name
        port = json.loads((home / "serving" / "gateway.json").read_text())["port"]
        self._forwarder = Forwarder(network, network.server, "127.0.0.1", port)

    def ask(self, x: Any) -> dict[str, Any]:
        url = f"{self._forwarder.address}/api/v1/service/{self._name}/score"
        with urllib.request.urlopen(url, json.dumps({"x": x}).encode(), timeout=60) as response:
            return json.load(response)

    def ask_many(self, numbers: range) -> list[dict[str, Any]]:
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            return list(pool.map(self.ask, numbers))

    def healthy(self) -> int:
        status = json.loads((self._home / "serving" / "status.json").read_text())
        return sum(version["healthy"] for version in status["services"].get(self._name, {}).values())

    def close(self) -> None:
        self._forwarder.close()


def pids_of(roots: Path, word: str) -> list[int]:
    """Return the processes of the nodes whose command line has this word."""
    found = subprocess.run(["pgrep", "-f", word], capture_output=True, text=True, check=False).stdout.split()
    marker = f"{roots}/".encode()
    return [int(pid) for pid in found if marker in _read(f"/proc/{pid}/environ")]


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def deploy(cluster: Any, model: Model, script: InferenceConfig, name: str, replicas: int) -> Webservice:
    config = AksWebservice.deploy_configuration(num_replicas=replicas, auth_enabled=False)
    return Model.deploy(cluster.workspace, name, [model], script, config, deployment_target=cluster)


def test_a_service_on_two_nodes_survives_every_loss(
    cluster: Any, model: Model, script: InferenceConfig, server: Server, network: PrivateNetwork, home: Path,
    roots: Path,
) -> None:  # fmt: skip
    service = deploy(cluster, model, script, "far-number", 2)
    service.wait_for_deployment()
    assert service.state == "Healthy"
    client = Client(home, network, "far-number")
    try:
        answers = client.ask_many(range(200))
        assert [each["result"] for each in answers] == [7 * x for x in range(200)]
        assert {Path(each["models"]).relative_to(roots).parts[0] for each in answers} == set(network.nodes)
        assert "started far-number" in service.get_logs()
    finally:
        client.close()
    service.delete()
