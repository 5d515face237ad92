"""The registry of models: samples, signatures, lineage, filters, and what a service makes of them."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from azureml.core import Dataset, Environment, Experiment, Model, ScriptRunConfig, Workspace
from azureml.core.resource_configuration import ResourceConfiguration
from azureml.exceptions import UserErrorException, WebserviceException

pytestmark = pytest.mark.shared_home

TRAIN = """
import joblib, os
from sklearn.linear_model import LinearRegression
os.makedirs("outputs", exist_ok=True)
joblib.dump(LinearRegression().fit([[1, 2.0], [3, 5.0], [7, 1.0]], [1.0, 2.0, 3.0]), "outputs/model.pkl")
"""


@pytest.fixture
def table(ws: Workspace, tmp_path: Path) -> Any:
    """Return a function that keeps lines as a tabular dataset."""
    store = ws.get_default_datastore()

    def keep(name: str, *lines: str) -> Any:
        (tmp_path / name).mkdir()
        (tmp_path / name / "table.csv").write_text("\n".join(lines) + "\n")
        store.upload(str(tmp_path / name), name)
        return Dataset.Tabular.from_delimited_files((store, f"{name}/table.csv")).register(ws, name)

    return keep


def test_a_model_knows_its_origin_and_its_signature(
    ws: Workspace, table: Any, here: Environment, tmp_path: Path, footplate: Any
) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text(TRAIN)
    run = Experiment(ws, "lines").submit(ScriptRunConfig(str(tmp_path / "code"), "train.py", environment=here))
    run.wait_for_completion()
    inputs, outputs = table("inputs", "age,height", "1,2.5", "3,4.5"), table("outputs", "score", "1.5")
    other = table("other", "x", "1")
    model = run.register_model(
        "lines", "outputs/model.pkl", tags={"stage": "test"}, properties={"seed": "1"}, datasets=[("training", inputs)],
        model_framework=Model.Framework.SCIKITLEARN, sample_input_dataset=inputs, sample_output_dataset=outputs,
        resource_configuration=ResourceConfiguration(cpu=1, memory_in_gb=4),
    )  # fmt: skip

    columns = [{"name": "age", "dtype": "int64"}, {"name": "height", "dtype": "float64"}]
    assert model.signature == {"inputs": columns, "outputs": [{"name": "score", "dtype": "float64"}]}
    assert (model.sample_input_dataset.id, model.sample_output_dataset.id) == (inputs.id, outputs.id)
    resources = model.resource_configuration
    assert resources is not None and (resources.cpu, resources.memory_in_gb, resources.gpu) == (1, 4, None)
    model.add_dataset_references([("evaluation", other)])
    assert {purpose: [each.name for each in found] for purpose, found in model.datasets.items()} == {
        "training": ["inputs"],
        "evaluation": ["other"],
    }
    lineage = Model(ws, id="lines:1").lineage
    details = run.get_details()
    assert (lineage["run"], lineage["experiment"]) == (run.id, "lines")
    assert lineage["snapshot"] == details["properties"]["ContentSnapshotId"]
    assert lineage["environment_lock"] == ws.session.api.runs.get(run.id).lock
    assert [(each["purpose"], each["name"]) for each in lineage["datasets"]] == [
        ("evaluation", "other"),
        ("sample input", "inputs"),
        ("sample output", "outputs"),
        ("training", "inputs"),
    ]
    check_update(Model(ws, "lines"), other, outputs)
    model.update(sample_input_dataset=inputs, resource_configuration=resources)
    shown = footplate("models", "show", "lines").stdout
    for text in ("training: inputs:1", "age int64, height float64", lineage["snapshot"], lineage["environment_lock"]):
        assert text in shown
    with urllib.request.urlopen(model.get_sas_urls()["model.pkl"]) as response:
        assert len(response.read()) == model.view.files[0].size

    service = Model.deploy(ws, "lines-service", [model])
    service.wait_for_deployment()
    assert (service.cpu_cores, service.memory_gb) == (1, 4)
    by_row = service.run(json.dumps({"data": [[1, 2.0]]}))
    assert by_row["predict"] == pytest.approx([1.0])
    assert service.run(json.dumps({"data": [{"height": 2.0, "age": 1}]})) == by_row
    with pytest.raises(
        WebserviceException, match=r"400(.|\n)*shape \[1, 3\], and the model takes \[any, 2\]: age, hei"
    ):
        service.run(json.dumps({"data": [[1, 2, 3]]}))


def test_models_are_found_by_every_filter(ws: Workspace, table: Any, tmp_path: Path) -> None:
    data = table("data", "x", "1")
    (tmp_path / "model.bin").write_bytes(b"x")

    def register(name: str, **about: Any) -> Model:
        return Model.register(ws, str(tmp_path / "model.bin"), name, **about)

    register("net", tags={"stage": "old", "kind": "a"}, properties={"seed": "1"}, model_framework="PyTorch")
    register("net", tags={"stage": "new"}, datasets=[("training", data)], model_framework="PyTorch")
    register("tree", tags={"stage": "new"}, properties={"seed": "2"}, model_framework="Custom")

    def ids(**wanted: Any) -> list[str]:
        return [model.id for model in Model.list(ws, **wanted)]

    assert ids() == ["tree:1", "net:2", "net:1"]
    assert ids(name="net") == ["net:2", "net:1"]
    assert ids(latest=True) == ["tree:1", "net:2"]
    assert ids(tags=["kind"]) == ["net:1"]
    assert ids(tags=[["stage", "new"]]) == ["tree:1", "net:2"]
    assert ids(tags=["kind", ["stage", "new"]]) == []
    assert ids(properties=["seed"]) == ["tree:1", "net:1"]
    assert ids(properties=[["seed", "2"]], expand=False, page_count=1) == ["tree:1"]
    assert ids(model_framework="PyTorch", latest=True) == ["net:2"]
    assert ids(dataset_id=data.id) == ["net:2"]
    assert ids(run_id="no-such-run") == []
    assert Model(ws, "net", tags=[["stage", "old"]]).version == 1
    assert Model(ws, properties=[["seed", "2"]]).id == "tree:1"
    assert Model(ws, model_framework="PyTorch").id == "net:2"
    with pytest.raises(WebserviceException, match="ModelNotFound"):
        Model(ws, "net", version=3)
    with pytest.raises(UserErrorException, match="tags is"):
        Model.list(ws, tags=[1])  # type: ignore[list-item]


def check_update(model: Model, sample: Any, outputs: Any) -> None:
    """Give the model another sample, which takes the place of the old one; everything else stays."""
    tags, purposes = model.tags, set(model.datasets)
    model.update(sample_input_dataset=sample, resource_configuration=ResourceConfiguration(cpu=2))
    found = Model(model.workspace, id=model.id)
    assert (found.sample_input_dataset.id, found.sample_output_dataset.id) == (sample.id, outputs.id)
    assert [column["name"] for column in found.signature["inputs"]] == ["x"] and "outputs" in found.signature
    assert found.resource_configuration is not None and found.resource_configuration.cpu == 2
    assert (found.tags, set(found.datasets)) == (tags, purposes)
