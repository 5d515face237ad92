"""The Chinese article of 2018 and the German one of 2019 about the estimator TensorFlow.

Given, because the documents take it for granted: in 2018 compute_target and exp; in 2019 project_folder, and the class
and its configurations before their imports. Corrected, because the blocks fail as they stand: `cluster`, which nothing
defines, in the lines for a training script, and in 2019 `exp.submit(tf_est)` for an estimator named `estimator`.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from reading import HERE, Document, supply

from azureml.core import Experiment, Run
from azureml.core.compute import AmlCompute, ComputeTarget
from azureml.core.runconfig import MpiConfiguration, TensorflowConfiguration
from azureml.train.dnn import TensorFlow

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.filterwarnings("ignore::DeprecationWarning")]
CHINESE, GERMAN = "002-tensorflow-2018-12", "004-tensorflow-2019-06"
CLUSTER = "ClusterSpec(cluster)", 'ClusterSpec(tf_config_json["cluster"])'


def write_script(path: str, lines: str, rest: str) -> None:
    """Write a training script that starts with lines of the document."""
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text(lines + (HERE / "scripts" / rest).read_text())


def finished(document: Document) -> Run:
    run: Run = document.names["run"]
    run.wait_for_completion(show_output=True)
    return run


def start(workspace: Any, subtests: pytest.Subtests) -> Document:
    document = Document(CHINESE, subtests)
    config = AmlCompute.provisioning_configuration(vm_size="STANDARD_NC6", max_nodes=4)
    document.given(
        compute_target=ComputeTarget.create(workspace, "gpu-cluster", config), exp=Experiment(workspace, "estimators")
    )
    return document


def train_alone(document: Document) -> None:
    """Run blocks 1 and 2: TensorFlow 1.13 and scikit-learn, with the arguments of the article."""
    write_script("my-tf-proj/train.py", "", "tensorflow-2018/single.py")
    document.run(1, 2)
    metrics = finished(document).get_metrics()
    assert metrics["parameters"] == {"batch_size": 50, "learning_rate": 0.01}
    assert metrics["loss"][-1] < metrics["loss"][0] and metrics["accuracy"][-1] > 0.9


def train_with_horovod(document: Document) -> None:
    """Run blocks 3 to 5: two processes find the weights from which their data was made."""
    document.run(3)
    write_script("my-tf-proj/train.py", document.text(4), "tensorflow-2018/with_horovod.py")
    document.run(5)
    metrics = finished(document).get_metrics()
    assert metrics["modules"] == {"tensorflow": "tensorflow", "horovod": "horovod"}
    assert (metrics["processes"], metrics["difference"]) == (2, 0.0)
    assert metrics["loss"][-1] < metrics["loss"][0] / 10
    assert metrics["weights"] == pytest.approx([3.0, -2.0, 0.5], abs=0.05)


def train_with_a_parameter_server(document: Document) -> None:
    """Run blocks 6 to 9: two workers train the variables of one parameter server."""
    document.run(6)
    document.correct(8, *CLUSTER)
    write_script("my-tf-proj/train.py", document.text(8), "tensorflow-2018/with_parameter_server.py")
    document.run(9)
    metrics = finished(document).get_metrics()
    worker = metrics["worker"]
    assert sorted(worker["index"]) == [0, 1]
    assert 300 < max(worker["steps"]) <= 600  # one counter for both: simultaneous steps may count as one
    assert set(worker["devices"]) == {"/job:ps/task:0"}
    assert worker["loss"] == pytest.approx([0.0, 0.0], abs=0.05)
    assert worker["largest"] == pytest.approx([3.0, 3.0], abs=0.1)
    document.compare_tf_config(7, json.loads(metrics["tf_config"]))


@pytest.mark.documents
def test_article_of_2018_as_a_reader_runs_it(
    workspace: Any, shared_environments: Path, subtests: pytest.Subtests
) -> None:
    document = start(workspace, subtests)
    train_alone(document)
    train_with_horovod(document)
    train_with_a_parameter_server(document)
    document.assert_complete()


def test_estimator_trains_with_a_parameter_server(
    workspace: Any, shared_environments: Path, subtests: pytest.Subtests
) -> None:
    train_with_a_parameter_server(start(workspace, subtests))


def prepare_2019(document: Document, web: list[str]) -> None:
    """Run blocks 1 to 7: the digits in the default datastore, the scripts in a folder, and a cluster."""
    supply(".", "tensorflow-2019/tf_mnist.py", "tensorflow-2019/utils.py")
    document.run(1, 2, 3, 4, 5, 6, 7)
    assert len(web) == 4
    document.given(TensorFlow=TensorFlow, MpiConfiguration=MpiConfiguration, project_folder="project")
    document.given(TensorflowConfiguration=TensorflowConfiguration)
    supply("project", "tensorflow-2019/utils.py")


def train_digits(document: Document) -> None:
    """Run blocks 8 to 11: a model of TensorFlow 1.13, whose downloaded checkpoint knows the digits as well."""
    document.run(8, 9, 10, 11)
    metrics = document.names["run"].get_metrics()
    assert metrics["is_version_1"] and metrics["validation_acc"][-1] > 0.9
    assert document.names["model"].name == "tf-dnn-mnist"
    assert {"checkpoint", "mnist-tf.model.meta", "mnist-tf.model.index"} <= {
        path.name for path in Path("model").iterdir()
    }
    supply("ask", "tensorflow-2019/ask.py", "tensorflow-2019/utils.py")
    shutil.copytree("model", "ask/model")
    names = document.names
    estimator = TensorFlow(
        "ask", entry_script="ask.py", script_params=names["script_params"], compute_target=names["compute_target"],
        use_gpu=True,
    )  # fmt: skip
    run = names["exp"].submit(estimator)
    run.wait_for_completion()
    assert run.get_metrics()["accuracy"] == pytest.approx(metrics["validation_acc"][-1], abs=1e-6)


def train_digits_with_horovod(document: Document) -> None:
    """Run block 12 and submit its estimator: two processes train one model."""
    write_script("project/script.py", "", "tensorflow-2019/with_horovod.py")
    document.run(12)
    metrics = document.submit("horovod").get_metrics()
    assert (metrics["processes"], metrics["difference"]) == (2, 0.0)
    assert metrics["validation_acc"][-1] > 0.9


def train_digits_with_a_parameter_server(document: Document) -> None:
    """Run blocks 13 to 15: two workers train the variables of one parameter server."""
    document.correct(13, "exp.submit(tf_est)", "exp.submit(estimator)")
    document.correct(15, *CLUSTER)
    write_script("project/script.py", document.text(15), "tensorflow-2019/with_parameter_server.py")
    document.run(13)
    metrics = finished(document).get_metrics()
    worker = metrics["worker"]
    assert sorted(worker["index"]) == [0, 1] and max(worker["accuracy"]) > 0.9
    assert set(worker["devices"]) == {"/job:ps/task:0"} and 8 * 60 < max(worker["steps"]) <= 2 * 8 * 60
    document.compare_tf_config(14, json.loads(metrics["tf_config"]))


@pytest.mark.documents
def test_article_of_2019_as_a_reader_runs_it(
    project: Path, shared_environments: Path, web: list[str], subtests: pytest.Subtests
) -> None:
    document = Document(GERMAN, subtests)
    prepare_2019(document, web)
    train_digits(document)
    train_digits_with_horovod(document)
    train_digits_with_a_parameter_server(document)
    document.assert_complete()
