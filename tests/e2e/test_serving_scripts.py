"""Scoring scripts as Azure's documents write them, in a deployed service."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from azureml.core import Environment, Experiment, Model, ScriptRunConfig, Workspace
from azureml.core.model import InferenceConfig
from azureml.core.webservice import LocalWebservice, Webservice
from azureml.exceptions import WebserviceException
from footplate.testing.waiting import wait_until

pytestmark = pytest.mark.shared_home

RAW = """
import os
from azureml.contrib.services.aml_request import AMLRequest, rawhttp
from azureml.contrib.services.aml_response import AMLResponse

def init():
    global model
    with open(os.path.join(os.environ["AZUREML_MODEL_DIR"], "model.txt")) as file:
        model = file.read()

@rawhttp
def run(request):
    assert isinstance(request, AMLRequest)
    if request.method == "GET":
        found = {"args": dict(request.args), "model": model, "color": os.environ["COLOR"]}
        return AMLResponse(found, 200, json_str=True)
    if request.method == "POST":
        response = AMLResponse(request.get_data(False)[::-1], 201)
        response.headers["X-Sender"] = request.headers["X-Sender"]
        return response
    return AMLResponse("bad request", 405)
"""
SCHEMA = """
import numpy as np
from inference_schema.parameter_types.numpy_parameter_type import NumpyParameterType
from inference_schema.parameter_types.standard_py_parameter_type import StandardPythonParameterType
from inference_schema.schema_decorators import input_schema, output_schema

def init():
    print("the schemas are there")

@input_schema("data", NumpyParameterType(np.array([[1.0, 2.0]])))
@input_schema("factor", StandardPythonParameterType(2.0))
@output_schema(NumpyParameterType(np.array([1.0])))
def run(data, factor):
    return data.sum(axis=1) * factor
"""
HEADERS = """
def init():
    assert open("./code/score.py").read() == open("score.py").read()  # Azure copies the directory by its name

def run(data, request_headers):
    return {"length": len(data), "sender": request_headers["X-Sender"]}
"""


def send(address: str, body: bytes | None, method: str | None = None) -> tuple[int, bytes, Any]:
    request = urllib.request.Request(address, body, {"X-Sender": "tests"}, method=method)
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, response.read(), response.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers


def schema_of(service: Webservice) -> dict[str, Any]:
    with urllib.request.urlopen(str(service.swagger_uri)) as response:
        operation = json.load(response)["paths"]["/score"]["post"]
    return operation["requestBody"]["content"]["application/json"]["schema"]


def test_a_script_gets_requests_in_each_of_azures_forms(ws: Workspace, here: Environment, tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "train.py").write_text("open('outputs/model.txt', 'w').write('trained')")
    here.environment_variables = {"COLOR": "blue"}
    run = Experiment(ws, "scripts").submit(ScriptRunConfig(str(tmp_path / "train"), "train.py", environment=here))
    run.wait_for_completion()
    model = run.register_model("scripted", "outputs/model.txt")

    code = tmp_path / "code"
    code.mkdir()
    (code / "score.py").write_text(RAW)
    config = InferenceConfig("score.py", source_directory=str(code))  # in the environment that trained the model
    service = Model.deploy(ws, "scripted", [model], config, LocalWebservice.deploy_configuration())
    assert isinstance(service, LocalWebservice)
    service.wait_for_deployment()
    address = str(service.scoring_uri)
    assert send(address, b"\x00\xff\x01")[:2] == (201, b"\x01\xff\x00")
    assert send(address, b"a")[2]["X-Sender"] == "tests"
    status, answer, _ = send(address + "?a=1&b=x", None)
    assert (status, json.loads(answer)) == (200, {"args": {"a": "1", "b": "x"}, "model": "trained", "color": "blue"})

    (code / "score.py").write_text(SCHEMA)
    service.reload(wait=True)
    assert service.run(json.dumps({"data": [[1, 2], [3, 4]], "factor": 10})) == [30.0, 70.0]
    assert send(address, b"nonsense")[0] == 400
    with pytest.raises(WebserviceException, match="status 400: the request does not fit the script"):
        service.run(json.dumps({"data": [[1, 2]]}))
    # The worker of the script before describes itself until it has drained.
    wait_until(lambda: schema_of(service).get("properties", {}).keys() == {"data", "factor"})

    (code / "score.py").write_text(HEADERS)
    service.reload(wait=True)
    status, answer, _ = send(address, b"12345")
    assert (status, json.loads(answer)) == (200, {"length": 5, "sender": "tests"})
