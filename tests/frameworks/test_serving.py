"""Models of real frameworks: trained by a run, served without code, called by every protocol, converted to ONNX.

The models are those of `examples/07-serving`.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.http as triton

from azureml.core import Environment, Experiment, Model, Run, ScriptRunConfig, Workspace
from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.webservice import Webservice
from azureml.exceptions import WebserviceException

EXAMPLE = Path(__file__).parents[2] / "examples" / "07-serving"
TORCH = ["torch==2.13.0", "numpy"]
TENSORFLOW = ["tensorflow-cpu==2.21.0"]
BOOSTERS = ["xgboost-cpu", "lightgbm", "scikit-learn", "onnxmltools", "skl2onnx", "onnxruntime"]
Trained = Callable[[str, list[str]], Run]


@pytest.fixture
def ws(shared_environments: Path, workspace: Workspace) -> Iterator[Workspace]:
    yield workspace
    for service in Webservice.list(workspace):
        service.delete()


@pytest.fixture
def trained(ws: Workspace) -> Trained:
    """Run train.py of the example."""

    def run_to_the_end(name: str, packages: list[str]) -> Run:
        environment = Environment("framework")
        environment.python.conda_dependencies = CondaDependencies.create(python_version="3.11", pip_packages=packages)
        run = Experiment(ws, "serving").submit(
            ScriptRunConfig(str(EXAMPLE), "train.py", [name], environment=environment)
        )
        run.wait_for_completion()
        return run

    return run_to_the_end


def sample_of(run: Run, folder: Path) -> tuple[np.ndarray[Any, Any], list[float]]:
    run.download_file("outputs/sample.json", str(folder / "sample.json"))
    found = json.loads((folder / "sample.json").read_text())
    return np.array(found["data"], dtype=np.float32), found["probabilities"]


def deploy(ws: Workspace, model: Model) -> Webservice:
    service = Model.deploy(ws, "served", [model], overwrite=True)
    service.wait_for_deployment()
    return service


def check_service(service: Webservice, x: np.ndarray[Any, Any], expected: list[float]) -> None:
    """Call Azure's payload, TensorFlow Serving's REST API, and the Open Inference Protocol with Triton's client."""
    base, _, path = str(service.scoring_uri).partition("/served/")
    base += "/served"
    key = "data" if path == "score" else "instances"  # TensorFlow's models have the address of its own server
    (answer,) = service.run(json.dumps({key: x.tolist()})).values()
    assert np.ravel(answer).tolist() == pytest.approx(expected, abs=1e-5)
    with pytest.raises(WebserviceException, match=r"400(.|\n)*has the shape \[1, 3\], and the model takes \[any, 2\]"):
        service.run(json.dumps({key: [[1, 2, 3]]}))

    request = urllib.request.Request(f"{base}/v1/models/points:predict", json.dumps({"instances": x.tolist()}).encode())
    with urllib.request.urlopen(request) as response:
        predictions = json.load(response)["predictions"]
    assert np.ravel(predictions).tolist() == pytest.approx(expected, abs=1e-5)

    with triton.InferenceServerClient(base.partition("://")[2]) as client:
        described: Any = client.get_model_metadata("points")
        (tensor,) = described["inputs"]
        given = triton.InferInput(tensor["name"], list(x.shape), tensor["datatype"])
        given.set_data_from_numpy(x.astype(np.float64 if tensor["datatype"] == "FP64" else np.float32))
        found: Any = client.infer("points", [given])
        values = found.as_numpy(found.get_response()["outputs"][0]["name"])
    assert np.ravel(values).tolist() == pytest.approx(expected, abs=1e-5)


def check_conversion(ws: Workspace, model: Model, x: np.ndarray[Any, Any]) -> Model:
    made = model.to_onnx(x)
    assert (made.model_framework, made.properties["converted_from"]) == ("Onnx", model.id)
    assert made.version == model.version + 1
    assert made.run is not None and made.run.get_metrics()["largest_difference"] < 1e-4
    return made


def test_torch_is_served_and_converted(ws: Workspace, trained: Trained, tmp_path: Path) -> None:
    run = trained("pytorch", TORCH)
    x, expected = sample_of(run, tmp_path)
    program = run.register_model("points", "outputs/model.pt2", model_framework="PyTorch")
    check_service(deploy(ws, program), x, expected)
    check_conversion(ws, program, x)
    script = run.register_model("points", "outputs/model.pt", model_framework="PyTorch")
    service = deploy(ws, script)
    assert np.ravel(service.run(json.dumps({"data": x.tolist()}))["predict"]) == pytest.approx(expected, abs=1e-5)
    converted = deploy(ws, check_conversion(ws, script, x))
    check_service(converted, x, expected)


def test_tensorflow_is_served_and_converted(ws: Workspace, trained: Trained, tmp_path: Path) -> None:
    run = trained("tensorflow", TENSORFLOW)
    x, expected = sample_of(run, tmp_path)
    for path in ("outputs/model", "outputs/model.keras"):
        model = run.register_model("points", path, model_framework="TensorFlow")
        check_service(deploy(ws, model), x, expected)
        check_conversion(ws, model, x)


def test_boosted_trees_are_served_and_converted(ws: Workspace, trained: Trained, tmp_path: Path) -> None:
    for name, framework, file in (("xgboost", "XGBoost", "model.ubj"), ("lightgbm", "LightGBM", "model.lgb")):
        run = trained(name, BOOSTERS)
        x, expected = sample_of(run, tmp_path)
        model = run.register_model("points", f"outputs/{file}", model_framework=framework)
        check_service(deploy(ws, model), x, expected)
        check_conversion(ws, model, x)
