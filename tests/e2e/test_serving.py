"""Web services as users write them: azureml.core, on a real server, gateway and workers."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from skl2onnx import to_onnx
from sklearn.linear_model import LogisticRegression

from azureml.core import Model, Workspace
from azureml.core.compute import AksCompute, ComputeTarget
from azureml.core.image import ContainerImage, Image
from azureml.core.model import InferenceConfig
from azureml.core.webservice import AciWebservice, AksWebservice, LocalWebservice, Webservice
from azureml.exceptions import UserErrorException, WebserviceException
from footplate.testing.waiting import wait_until

pytestmark = pytest.mark.shared_home

X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [3.0, 3.0]])
Y = np.array([0, 1, 0, 1])


def classifier() -> Any:
    return LogisticRegression().fit(X, Y)


def register(ws: Workspace, tmp_path: Path, name: str = "points") -> Model:
    path = tmp_path / f"{name}.pkl"
    joblib.dump(classifier(), path)
    return Model.register(
        ws, str(path), name, model_framework=Model.Framework.SCIKITLEARN, model_framework_version="1.5"
    )


def test_a_model_is_deployed_without_code_and_called(ws: Workspace, tmp_path: Path, capsys: Any) -> None:
    model = register(ws, tmp_path)
    service = Model.deploy(ws, "points-service", [model])
    assert isinstance(service, AciWebservice)
    service.wait_for_deployment(show_output=True)
    assert "Succeeded" in capsys.readouterr().out
    assert service.state == "Healthy"
    answer = service.run(json.dumps({"data": X.tolist(), "method": "predict"}))
    assert answer["predict"] == [0, 1, 0, 1]
    assert service.scoring_uri is not None and service.scoring_uri.endswith("/api/v1/service/points-service/score")
    with urllib.request.urlopen(str(service.swagger_uri)) as response:
        assert json.loads(response.read())["info"]["title"] == "points-service"
    with pytest.raises(WebserviceException, match="400"):
        service.run(json.dumps({"data": [[1.0, 2.0, 3.0]]}))
    assert isinstance(service.get_logs(), str)
    assert list(ws.webservices) == ["points-service"]
    with pytest.raises(WebserviceException, match="already"):
        Model.deploy(ws, "points-service", [model])
    service.delete()
    with pytest.raises(WebserviceException, match="WebserviceNotFound"):
        Webservice(ws, "points-service")
    assert ws.webservices == {}


def test_an_onnx_model_is_called_by_three_protocols(ws: Workspace, tmp_path: Path) -> None:
    made: Any = to_onnx(classifier(), X[:1].astype(np.float32), options={"zipmap": False})
    (tmp_path / "points.onnx").write_bytes(made.SerializeToString())
    model = Model.register(ws, str(tmp_path / "points.onnx"), "points", model_framework=Model.Framework.ONNX)
    service = Model.deploy(ws, "onnx-points", [model])
    service.wait_for_deployment()
    base = str(service.scoring_uri).rpartition("/")[0]

    def ask(path: str, body: Any) -> Any:
        request = urllib.request.Request(f"{base}/{path}", json.dumps(body).encode())
        with urllib.request.urlopen(request) as response:
            return json.load(response)

    expected = classifier().predict_proba(X)
    azure = service.run(json.dumps({"data": X.tolist()}))
    assert azure["label"] == Y.tolist()
    np.testing.assert_allclose(azure["probabilities"], expected, atol=1e-5)
    rows = ask("v1/models/points:predict", {"instances": X.tolist()})["predictions"]
    assert [row["label"] for row in rows] == Y.tolist()
    tensor = {"name": "X", "shape": list(X.shape), "datatype": "FP32", "data": X.ravel().tolist()}
    outputs = {each["name"]: each for each in ask("v2/models/points/infer", {"inputs": [tensor]})["outputs"]}
    assert (outputs["label"]["datatype"], outputs["label"]["data"]) == ("INT64", Y.tolist())
    np.testing.assert_allclose(np.reshape(outputs["probabilities"]["data"], (4, 2)), expected, atol=1e-5)
    with pytest.raises(WebserviceException, match="400"):
        service.run(json.dumps({"data": [[1.0, 2.0, 3.0]]}))


def test_a_model_is_converted_to_onnx_with_lineage(ws: Workspace, tmp_path: Path) -> None:
    model = register(ws, tmp_path)
    made = model.to_onnx(X)
    assert (made.id, made.model_framework, made.properties["converted_from"]) == ("points:2", "Onnx", "points:1")
    assert made.run is not None and made.run.get_metrics()["largest_difference"] < 1e-3
    service = Model.deploy(ws, "converted", [made])
    service.wait_for_deployment()
    assert service.run(json.dumps({"data": X.tolist()}))["label"] == Y.tolist()
    with pytest.raises(UserErrorException, match="is an ONNX model already"):
        made.to_onnx(X)
    with pytest.raises(UserErrorException, match="sample_input is None"):
        model.to_onnx()


def test_a_model_of_no_framework_needs_code(ws: Workspace, tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(b"x")
    model = Model.register(ws, str(tmp_path / "weights.bin"), "weights")
    with pytest.raises(UserErrorException, match="cannot be served without code"):
        Model.deploy(ws, "weights", [model])


SCORE = """
import json, os
from azureml.core.model import Model

def init():
    global factor, model
    model = open(Model.get_model_path("number")).read()
    assert open(os.path.join(os.environ["AZUREML_MODEL_DIR"], "number.txt")).read() == model
    factor = FACTOR
    print("the script has started", os.environ["SERVICE_NAME"])

def run(data):
    return {"result": json.loads(data)["x"] * factor * int(model)}
"""


@pytest.fixture
def number(ws: Workspace, tmp_path: Path) -> Model:
    (tmp_path / "number.txt").write_text("7")
    return Model.register(ws, str(tmp_path / "number.txt"), "number")


def script(folder: Path, factor: int) -> InferenceConfig:
    folder.mkdir(exist_ok=True)
    (folder / "score.py").write_text(SCORE.replace("FACTOR", str(factor)))
    return InferenceConfig("score.py", source_directory=str(folder))


def test_a_local_service_runs_a_script_and_reloads_it(ws: Workspace, number: Model, tmp_path: Path) -> None:
    config = LocalWebservice.deploy_configuration()
    service = Model.deploy(ws, "local-script", [number], script(tmp_path / "code", 2), config)
    assert isinstance(service, LocalWebservice)
    service.wait_for_deployment()
    assert (service.state, service.scoring_uri) == ("running", f"http://localhost:{service.port}/score")
    assert service.run(json.dumps({"x": 3})) == {"result": 42}
    wait_until(lambda: "the script has started local-script" in service.get_logs())  # they are shipped a moment later
    with pytest.raises(WebserviceException, match=r"500.*KeyError"):
        service.run("{}")
    script(tmp_path / "code", 3)
    service.reload()
    assert service.run(json.dumps({"x": 3})) == {"result": 63}
    service.update(inference_config=script(tmp_path / "code", 4))
    assert service.run(json.dumps({"x": 3})) == {"result": 84}
    with pytest.raises(NotImplementedError):
        service.get_keys()
    service.delete(delete_cache=True, delete_image=False)


def test_keys_and_tokens_open_a_service(ws: Workspace, number: Model, tmp_path: Path) -> None:
    config = AksWebservice.deploy_configuration(num_replicas=1, tags={"team": "a"}, primary_key="chosen-key")
    service = Model.deploy(ws, "guarded", [number], script(tmp_path / "code", 1), config)
    service.wait_for_deployment()
    assert service.auth_enabled and service.get_keys()[0] == "chosen-key"
    body = json.dumps({"x": 1})

    def status(key: str | None) -> int:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        request = urllib.request.Request(str(service.scoring_uri), body.encode(), headers)
        try:
            with urllib.request.urlopen(request) as response:
                return response.status
        except urllib.error.HTTPError as error:
            return error.code

    assert [status(key) for key in (None, "wrong", *service.get_keys())] == [401, 401, 200, 200]
    old = service.get_keys()[1]
    service.regen_key("Secondary")
    wait_until(lambda: status(old) == 401)
    assert service.run(body) == {"result": 7}
    service.update(auth_enabled=False, token_auth_enabled=True, description="by token")
    wait_until(lambda: status("chosen-key") == 401)
    token, refresh = service.get_token()
    assert status(token) == 200 and refresh.year >= 2025
    found = Webservice(ws, "guarded")
    assert found.run(body) == {"result": 7}
    assert (found.description, found.tags, found.compute_type) == ("by token", {"team": "a"}, "AKS")
    assert [each.name for each in Webservice.list(ws, tags=[["team", "a"]], model_name="number")] == ["guarded"]
    assert Webservice.list(ws, compute_type="ACI") == []
    assert found.serialize()["models"][0]["id"] == "number:1"


def test_the_older_api_deploys_a_script_without_an_image(
    ws: Workspace, number: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "helper.py").write_text("FACTOR = 5\n")
    (tmp_path / "score.py").write_text("from helper import FACTOR\n" + SCORE)
    sizes = AksCompute.provisioning_configuration(agent_count=2, cluster_purpose=AksCompute.ClusterPurpose.DEV_TEST)
    target = ComputeTarget.create(ws, "aks", sizes)
    config = ContainerImage.image_configuration(
        "score.py", runtime="python", dependencies=["helper.py"], tags={"stage": "test"}
    )
    image = ContainerImage.create(ws, "image", [number], config)
    image.wait_for_creation(show_output=True)
    assert Image.list(ws, tags=[["stage", "test"]]) == [image] and image.image_location is None
    assert Image.list(ws, image_name="other") == Image.list(ws, tags=["owner"]) == []
    options = AksWebservice.deploy_configuration(auth_enabled=False, memory_gb=0.001)
    service = Webservice.deploy_from_image(ws, "older", image, options, deployment_target=target)
    with pytest.raises(WebserviceException, match=r"GB of memory, more than memory_gb=0.001"):
        service.wait_for_deployment()
    service.update(memory_gb=4, cpu_cores=1)
    service.wait_for_deployment()
    assert service.run(json.dumps({"x": 1})) == {"result": 35}
    assert (service.memory_gb, service.cpu_cores) == (4, 1)
    image.delete()
    assert Image.list(ws) == []
