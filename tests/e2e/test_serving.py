"""Web services as users write them: azureml.core, on a real server, gateway and workers."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from azureml.core import Model, Workspace
from azureml.core.webservice import AciWebservice, Webservice
from azureml.exceptions import UserErrorException, WebserviceException

X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [3.0, 3.0]])
Y = np.array([0, 1, 0, 1])


@pytest.fixture
def ws(workspace: Workspace) -> Iterator[Workspace]:
    """A workspace whose services are deleted at the end."""
    yield workspace
    for service in Webservice.list(workspace):
        service.delete()


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


def test_a_model_of_no_framework_needs_code(ws: Workspace, tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(b"x")
    model = Model.register(ws, str(tmp_path / "weights.bin"), "weights")
    with pytest.raises(UserErrorException, match="cannot be served without code"):
        Model.deploy(ws, "weights", [model])
