"""Web services that tests deploy to clusters, and clients for them."""

from __future__ import annotations

import concurrent.futures
import json
import urllib.request
from pathlib import Path
from typing import Any

from azureml.core import Environment, Model
from azureml.core.model import InferenceConfig
from azureml.core.webservice import AksWebservice, Webservice
from support.networks import Forwarder, PrivateNetwork

SCORE = """
import json, os
from azureml.monitoring import ModelDataCollector

def init():
    global factor, inputs
    inputs = ModelDataCollector("number", designation="inputs", feature_names=["x"])
    factor = int(open(os.path.join(os.environ["AZUREML_MODEL_DIR"], "number.txt")).read())
    print("started", os.environ["SERVICE_NAME"], "with", factor, flush=True)

def run(data):
    x = json.loads(data)["x"]
    inputs.collect([x])
    return {"result": x * factor, "pid": os.getpid(), "model": os.environ["AZUREML_MODEL_DIR"],
            "host": os.uname().nodename}
"""
"""Multiply by the number in the model, and say who answers."""


def describe_script(environment: Environment) -> InferenceConfig:
    Path("scoring").mkdir(exist_ok=True)
    Path("scoring/score.py").write_text(SCORE)
    return InferenceConfig("score.py", source_directory="scoring", environment=environment)


def deploy(target: Any, environment: Environment, name: str, replicas: int) -> Webservice:
    """Deploy the script with the number 7 as its model to a compute target."""
    Path("number.txt").write_text("7")
    model = Model.register(target.workspace, "number.txt", "number")
    config = AksWebservice.deploy_configuration(num_replicas=replicas, auth_enabled=False, collect_model_data=True)
    script = describe_script(environment)
    return Model.deploy(target.workspace, name, [model], script, config, deployment_target=target)


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
