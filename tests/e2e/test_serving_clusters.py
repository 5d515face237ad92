"""Web services on nodes that see neither the server's home nor its gateway, and that only call out."""

from __future__ import annotations

import concurrent.futures
import json
import os
import signal
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from azureml.core import Environment, Model, Workspace
from azureml.core.model import InferenceConfig
from azureml.core.webservice import AksWebservice, Webservice
from azureml.exceptions import WebserviceException
from footplate.testing.networks import Forwarder, PrivateNetwork, ServerInside
from footplate.testing.waiting import wait_until

from .test_namespace_engine import cluster, here, network, roots, server, workspace_there

__all__ = ["cluster", "here", "network", "roots", "server", "workspace_there"]  # fixtures

SCORE = """
import json, os

def init():
    global factor
    factor = int(open(os.path.join(os.environ["AZUREML_MODEL_DIR"], "number.txt")).read())
    print("started", os.environ["SERVICE_NAME"], "with", factor, flush=True)

def run(data):
    return {"result": json.loads(data)["x"] * factor, "pid": os.getpid(), "model": os.environ["AZUREML_MODEL_DIR"]}
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
    """A client of one service at the gateway, which listens only inside the network of the test."""

    def __init__(self, home: Path, network: PrivateNetwork, name: str) -> None:
        self.serving, self._name = home / "serving", name
        self._forwarder = Forwarder(network, network.server, "127.0.0.1", self.gateway()["port"])

    def gateway(self) -> dict[str, Any]:
        return json.loads((self.serving / "gateway.json").read_text())

    def ask(self, x: int) -> dict[str, Any]:
        url = f"{self._forwarder.address}/api/v1/service/{self._name}/score"
        with urllib.request.urlopen(url, json.dumps({"x": x}).encode(), timeout=60) as response:
            return json.load(response)

    def ask_many(self) -> list[dict[str, Any]]:
        """Send 200 requests, 20 at once; return the answers after a check that each is right."""
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            answers = list(pool.map(self.ask, range(200)))
        assert [answer["result"] for answer in answers] == [7 * x for x in range(200)]
        return answers

    def healthy(self) -> int:
        status = json.loads((self.serving / "status.json").read_text())
        return sum(version["healthy"] for version in status["services"].get(self._name, {}).values())

    def close(self) -> None:
        self._forwarder.close()


@pytest.fixture
def services(cluster: Any) -> Iterator[list[Webservice]]:
    """Yield a list of services that are deleted at the end, whatever happens."""
    made: list[Webservice] = []
    yield made
    for service in made:
        service.delete()


def deploy(cluster: Any, model: Model, script: InferenceConfig, name: str, replicas: int) -> Webservice:
    config = AksWebservice.deploy_configuration(num_replicas=replicas, auth_enabled=False)
    return Model.deploy(cluster.workspace, name, [model], script, config, deployment_target=cluster)


def test_a_service_on_other_machines_survives_every_loss(
    cluster: Any, model: Model, script: InferenceConfig, server: ServerInside, network: PrivateNetwork, home: Path,
    roots: Path, services: list[Webservice], footplate: Any,
) -> None:  # fmt: skip
    service = deploy(cluster, model, script, "number", 2)
    services.append(service)
    service.wait_for_deployment()
    client = Client(home, network, "number")
    try:
        answers = client.ask_many()
        pids = {answer["pid"] for answer in answers}
        assert len(pids) == 2 and all(answer["model"].startswith(f"{roots}/") for answer in answers)
        assert service.get_logs().count("started number with 7") == 2
        wait_until(lambda: footplate.json("endpoints", "show", "number")["versions"][0]["requests"] == 200)
        (shown,) = footplate.json("endpoints", "show", "number")["versions"]
        found = [shown[name] for name in ("healthy", "state", "errors", "waiting")]
        assert (shown["spec"]["target"], *found) == ("far", 2, "ready", 0, None)

        # The target has room for two nodes.
        late = deploy(cluster, model, script, "late", 1)
        services.append(late)
        wait_until(lambda: footplate.json("endpoints", "show", "late")["versions"][0]["waiting"])
        assert "far" in footplate("endpoints", "show", "late").stdout.partition("waits")[2].splitlines()[0]
        late.delete()
        services.remove(late)

        # A worker dies: its requests go to the other one, and it starts again.
        os.kill(min(pids), signal.SIGKILL)
        client.ask_many()
        wait_until(lambda: client.healthy() == 2)
        pids = {answer["pid"] for answer in client.ask_many()}
        assert len(pids) == 2

        # The agents die: the workers do not notice.
        for lock in roots.glob("*/work/*/node_0/agent.lock"):
            os.kill(json.loads(lock.read_text())["pid"], signal.SIGKILL)
        # The server is away: the gateway and the connections do not need it.
        server.stop()
        assert {answer["pid"] for answer in client.ask_many()} == pids
        server.start()
        assert {answer["pid"] for answer in client.ask_many()} == pids

        # The gateway dies: the next one has the same port, and the workers connect to it.
        before = client.gateway()["pid"]
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: client.gateway()["pid"] != before)
        wait_until(lambda: client.healthy() == 2)
        assert {answer["pid"] for answer in client.ask_many()} == pids

        # The network is away: that is noticed, and the workers connect again.
        network.cut(network.nodes[0])
        wait_until(lambda: client.healthy() == 0)
        network.restore(network.nodes[0])
        wait_until(lambda: client.healthy() == 2)
        assert {answer["pid"] for answer in client.ask_many()} == pids
    finally:
        network.restore(network.nodes[0])
        client.close()
    service.delete()
    services.remove(service)
    wait_until(lambda: not list(roots.glob("*/work/*")))
    wait_until(lambda: not (client.serving / "gateway.sock").exists())
    assert not list((client.serving / "versions").glob("*"))


def test_a_target_that_cannot_hold_a_service_is_named(cluster: Any, model: Model, script: InferenceConfig) -> None:
    with pytest.raises(WebserviceException, match="there is no compute target 'nowhere'") as raised:
        Model.deploy(cluster.workspace, "number", [model], script, deployment_target="nowhere")
    assert "footplate compute list" in str(raised.value)
    with pytest.raises(WebserviceException, match="deployment_target is 7"):
        Model.deploy(cluster.workspace, "number", [model], script, deployment_target=7)
    assert cluster.workspace.webservices == {}
