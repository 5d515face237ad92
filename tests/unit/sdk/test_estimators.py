"""Estimators become the equivalent ScriptRunConfig, and raise Azure's exceptions."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path
from typing import Any

import pytest

from azureml.train.dnn import Chainer, Gloo, Mpi, Nccl, ParameterServer, PyTorch, TensorFlow
from azureml.train.estimator import Estimator
from azureml.train.sklearn import SKLearn
from footplate.domain.specs import Distribution
from footplate.environments import curated
from footplate.sdk.config.run_configuration import distribution
from footplate.sdk.environments.environment import Environment
from footplate.sdk.estimators import frameworks
from footplate.sdk.estimators.estimator import script_run_config
from footplate.sdk.estimators.inputs import arguments
from footplate.sdk.exceptions import TrainingException, UserErrorException
from footplate.sdk.values.run_configuration_sections import MpiConfiguration, TensorflowConfiguration

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def make(kind: Any = Estimator, **parameters: Any) -> Any:
    return kind("src", **{"compute_target": "cluster", "entry_script": "train.py", **parameters})


# ── script_params ──


def test_parameters_become_arguments_in_order():
    assert arguments({"--lr": 0.01, "--epochs": 5, "--name": "x"}) == ["--lr", 0.01, "--epochs", 5, "--name", "x"]


def test_an_empty_value_is_a_flag_and_a_list_is_expanded():
    assert arguments({"--flag": "", "--none": None, "--sizes": [1, "", 2]}) == ["--flag", "--none", "--sizes", 1, 2]


def test_zero_and_false_are_values():
    assert arguments({"--n": 0, "--quiet": False}) == ["--n", 0, "--quiet", False]


def test_parameters_must_be_a_dictionary():
    with pytest.raises(TrainingException, match=r"\['--lr'\]"):
        arguments(["--lr"])


# ── distribution ──


@pytest.mark.parametrize(
    "kind, given, expected",
    [
        (Estimator, {}, Distribution()),
        (Estimator, {"node_count": 2, "distributed_backend": "mpi"}, Distribution("mpi", 2)),
        (
            TensorFlow,
            {"node_count": 2, "process_count_per_node": 3, "distributed_training": MpiConfiguration()},
            Distribution("mpi", 2, processes_per_node=3),
        ),
        (Estimator, {"distributed_training": MpiConfiguration(node_count=3)}, Distribution("mpi", 3)),
        (TensorFlow, {"node_count": 2, "distributed_training": Mpi(4)}, Distribution("mpi", 2, processes_per_node=4)),
        (
            TensorFlow,
            {"node_count": 2, "worker_count": 2, "parameter_server_count": 1, "distributed_backend": "ps"},
            Distribution("tensorflow", 2, worker_count=2, parameter_server_count=1),
        ),
        (
            TensorFlow,
            {"distributed_training": ParameterServer(3, 2)},
            Distribution("tensorflow", 3, worker_count=3, parameter_server_count=2),
        ),
        (
            TensorFlow,
            {"node_count": 2, "distributed_training": TensorflowConfiguration(2, 1)},
            Distribution("tensorflow", 2, worker_count=2, parameter_server_count=1),
        ),
        (
            PyTorch,
            {"node_count": 2, "process_count_per_node": 2, "distributed_backend": "gloo"},
            Distribution("torch", 2, 4, backend="gloo"),
        ),
        (PyTorch, {"node_count": 2, "distributed_training": Nccl()}, Distribution("torch", 2, 2, backend="nccl")),
        (Chainer, {"node_count": 2, "distributed_backend": "mpi"}, Distribution("mpi", 2)),
        (Estimator, {"node_count": 2, "distributed_training": Gloo()}, Distribution("torch", 2, 2, backend="gloo")),
    ],
)
def test_every_distribution(kind: Any, given: dict[str, Any], expected: Distribution):
    assert distribution(make(kind, **given).run_config) == expected


@pytest.mark.parametrize(
    "kind, given, words",
    [
        (Estimator, {"node_count": 2}, "but no distribution"),
        (Estimator, {"process_count_per_node": 2}, "but no distribution"),
        (Estimator, {"node_count": 0}, "node_count is 0"),
        (Estimator, {"node_count": "2"}, "node_count is '2'"),
        (Estimator, {"node_count": True}, "node_count is True"),
        (Estimator, {"distributed_training": Mpi(0)}, "process_count_per_node is 0"),
        (Estimator, {"distributed_training": MpiConfiguration(node_count="2")}, "node_count is '2'"),  # type: ignore[arg-type]
        (TensorFlow, {"worker_count": 0, "distributed_backend": "ps"}, "worker_count is 0"),
        (TensorFlow, {"parameter_server_count": -1, "distributed_backend": "ps"}, "parameter_server_count is -1"),
        (TensorFlow, {"worker_count": 2}, "worker_count is 2, but no distribution"),
        (Estimator, {"entry_script": 3}, "entry_script is 3"),
        (Estimator, {"environment_variables": ["A=b"]}, "environment_variables is"),
        (Estimator, {"environment_definition": "mine"}, "environment_definition is 'mine'"),
        (Estimator, {"inputs": "data"}, "inputs is 'data'"),
        (Estimator, {"inputs": [3]}, "inputs has 3"),
        (Estimator, {"max_run_duration_seconds": "60"}, "max_run_duration_seconds is '60'"),
        (Estimator, {"max_run_duration_seconds": 0}, "max_run_duration_seconds is 0"),
        (Estimator, {"distributed_backend": "gloo"}, "distributed_backend is 'gloo'"),
        (TensorFlow, {"distributed_backend": "nccl"}, "distributed_backend is 'nccl'"),
        (TensorFlow, {"distributed_training": Gloo()}, "distributed_training is Gloo"),
        (Chainer, {"distributed_training": ParameterServer()}, "distributed_training is ParameterServer"),
        (PyTorch, {"distributed_backend": "mpi", "distributed_training": Mpi()}, "both distributed_training and"),
        (Estimator, {"compute_target": "local", "node_count": 2, "distributed_backend": "mpi"}, "is one machine"),
        (Estimator, {"compute_target": None}, "neither compute_target nor vm_size"),
        (TensorFlow, {"framework_version": "1.11"}, "framework_version is '1.11'"),
        (SKLearn, {"framework_version": "1.0"}, "framework_version is '1.0'"),
        (Estimator, {"conda_dependencies_file": "a.yml", "conda_packages": ["x"]}, "together with conda_packages"),
        (Estimator, {"conda_dependencies_file": "a", "conda_dependencies_file_path": "b"}, "both conda_dependencies"),
        (Estimator, {"environment_definition": Environment("e"), "pip_packages": ["x"]}, "together with pip_packages"),
        (Estimator, {"environment_definition": Environment("e"), "use_gpu": True}, "together with use_gpu"),
        (Estimator, {"environment_definition": Environment("e"), "custom_docker_image": "i"}, "custom_docker_image"),
    ],
)
def test_invalid_options_raise_a_training_exception_with_a_hint(kind: Any, given: dict[str, Any], words: str):
    with pytest.raises(TrainingException, match=words) as caught:
        make(kind, **given)
    assert "hint:" in str(caught.value)


def test_an_estimator_needs_a_script_only_when_it_is_submitted():
    made = make(PyTorch, entry_script=None, pip_packages=["tqdm"])
    assert "tqdm" in made.run_config.environment.python.conda_dependencies.serialize_to_string()
    with pytest.raises(TrainingException, match="entry_script was not given"):
        script_run_config(None, made)  # type: ignore[arg-type]


def test_packages_for_a_user_managed_environment_are_an_error():
    with pytest.raises(UserErrorException, match="pip_packages"):
        make(user_managed=True, pip_packages=["x"])


def test_unknown_parameters_are_type_errors():
    for kind, parameter in ((Estimator, "worker_count"), (PyTorch, "worker_count"), (SKLearn, "node_count")):
        with pytest.raises(TypeError, match=parameter):
            make(kind, **{parameter: 1})
    with pytest.raises(TypeError):
        Estimator("src", "cluster")  # type: ignore[misc]


# ── environments ──


def test_packages_are_added_to_the_defaults(tmp_path: Path):
    (tmp_path / "reqs.txt").write_text("requests==2.0\nrich\n")
    made = Estimator(
        str(tmp_path), compute_target="local", entry_script="t.py", conda_packages=["scikit-learn"],
        pip_packages=["tqdm", "rich==13"], pip_requirements_file="reqs.txt", environment_variables={"N": 1},
    )  # fmt: skip
    assert "scikit-learn" in list(made.conda_dependencies.conda_packages)
    assert list(made.conda_dependencies.pip_packages) == ["azureml-defaults", "requests==2.0", "rich==13", "tqdm"]
    assert made.run_config.environment.environment_variables["N"] == "1"
    assert made.run_config.environment.docker.enabled is False


def test_a_conda_file_is_relative_to_the_source_folder(tmp_path: Path):
    (tmp_path / "env.yml").write_text("dependencies:\n- python=3.9\n- numpy\n")
    made = TensorFlow(
        str(tmp_path), compute_target="local", entry_script="t.py", conda_dependencies_file_path="env.yml"
    )
    assert list(made.conda_dependencies.conda_packages) == ["python=3.9", "numpy"]
    assert made.curated_environment is None


def test_an_environment_definition_is_used_unchanged():
    own = Environment("mine")
    made = make(environment_definition=own, environment_variables={"A": "b"})
    assert made.run_config.environment.name == "mine"
    assert "A" not in own.environment_variables


def test_an_image_requests_a_container():
    docker = make(custom_docker_image="me/image", shm_size="8g").run_config.environment.docker
    assert (docker.enabled, docker.base_image, docker.shm_size) == (True, "me/image", "8g")


@pytest.mark.parametrize(
    "kind, given, name",
    [
        (TensorFlow, {}, "AzureML-TensorFlow-1.13-CPU"),
        (TensorFlow, {"framework_version": "2.2", "use_gpu": True}, "AzureML-TensorFlow-2.2-GPU"),
        (PyTorch, {"framework_version": "1.6", "use_gpu": True}, "AzureML-PyTorch-1.6-GPU"),
        (Chainer, {}, "AzureML-Chainer-5.1.0-CPU"),
        (SKLearn, {}, "AzureML-Scikit-learn-0.20.3"),
        (Estimator, {}, None),
        (PyTorch, {"user_managed": True}, None),
        (PyTorch, {"environment_definition": Environment("e")}, None),
    ],
)
def test_frameworks_use_their_curated_environment(kind: Any, given: dict[str, Any], name: str | None):
    assert make(kind, **given).curated_environment == name


def test_every_framework_version_has_a_curated_environment():
    for kind in (TensorFlow, PyTorch, Chainer, SKLearn):
        for version in kind.get_supported_versions():
            for gpu in ({}, {"use_gpu": True}) if kind is not SKLearn else ({},):
                name = make(kind, framework_version=version, **gpu).curated_environment
                assert name in [entry.name for entry in curated.every()], name


def test_the_default_version_is_logged_only_if_it_is_used(caplog: pytest.LogCaptureFixture):
    make(PyTorch, environment_definition=Environment("e"))
    assert not caplog.messages
    make(PyTorch)
    assert caplog.messages == ["framework_version is not set; using PyTorch 1.4"]


# ── the warning ──


def test_the_warning_shows_the_script_run_config_at_the_callers_line():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        TensorFlow(
            "./my-tf-proj", compute_target="gpu", entry_script="train.py", node_count=2, distributed_backend="mpi",
            script_params={"--batch-size": 50, "--flag": ""}, conda_packages=["scikit-learn"], use_gpu=True,
        )  # fmt: skip
    (warning,) = [one for one in seen if one.category is DeprecationWarning]
    assert warning.filename == __file__
    text = str(warning.message)
    assert "TensorFlow is deprecated" in text
    for line in (
        "environment = Environment.get(workspace, 'AzureML-TensorFlow-1.13-GPU').clone('tensorflow-estimator')",
        "environment.python.conda_dependencies.add_conda_package('scikit-learn')",
        "source_directory='./my-tf-proj',",
        "script='train.py',",
        "arguments=['--batch-size', 50, '--flag'],",
        "compute_target='gpu',",
        "distributed_job_config=MpiConfiguration(process_count_per_node=1, node_count=2),",
    ):
        assert line in text, line


def test_type_checkers_see_every_parameter_of_the_frameworks():
    own = set(inspect.signature(Estimator.__init__).parameters) - {"self", "source_directory", "options"}
    assert set(frameworks.DistributedParameters.__annotations__) == own


# ── signatures ──


@pytest.mark.parametrize("kind", [Estimator, TensorFlow, PyTorch, Chainer, SKLearn])
def test_the_signature_lists_every_parameter(kind: Any):
    shown = inspect.signature(kind).parameters
    assert "source_directory" in shown and {"entry_script", "inputs", "resume_from"} <= set(shown)
    assert all(each.kind is not each.VAR_KEYWORD for each in shown.values())
    assert ("worker_count" in shown) == (kind is TensorFlow)
    assert ("framework_version" in shown) == (kind is not Estimator)
    assert ("node_count" in shown) == (kind is not SKLearn)
