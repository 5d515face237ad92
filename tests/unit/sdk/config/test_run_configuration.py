from __future__ import annotations

import json

import pytest

from footplate.domain.specs import Distribution
from footplate.sdk.config.run_configuration import (
    MpiConfiguration,
    PyTorchConfiguration,
    RunConfiguration,
    TensorflowConfiguration,
    distribute,
    distribution,
    run_definition,
)
from footplate.sdk.environments.environment import Environment
from footplate.sdk.exceptions import RunConfigurationException


@pytest.mark.parametrize(
    "thing",
    [
        RunConfiguration(),
        RunConfiguration().history,
        Environment("e"),
        Environment("e").docker,
        Environment("e").python,
        MpiConfiguration(),
        PyTorchConfiguration(),
    ],
)
def test_a_misspelled_attribute_cannot_be_set(thing: object):
    with pytest.raises(AttributeError, match="hint"):
        thing.no_such_thing = 1  # type: ignore[attr-defined]


def test_the_nearest_attribute_is_suggested():
    with pytest.raises(AttributeError, match="did you mean 'node_count'"):
        RunConfiguration().node_cout = 2  # type: ignore[attr-defined]


FIELDS = """
    script arguments command target framework communicator max_run_duration_seconds node_count priority environment
    history spark docker hdi tensorflow mpi pytorch paralleltask data_references data datacaches output_data
    environment_variables amlcompute kubernetescompute services source_directory_data_store
    credential_passthrough auto_prepare_environment
"""


def test_every_field_of_azures_class_exists():
    made = RunConfiguration()
    for name in FIELDS.split():
        setattr(made, name, getattr(made, name))
    assert (made.target, made.framework, made.communicator, made.node_count) == ("local", "Python", "None", 1)
    assert (made.history.output_collection, made.history.snapshot_project) == (True, True)
    assert made.history.directories_to_watch == ["logs"]
    assert (made.docker.use_docker, made.docker.shared_volumes, made.docker.shm_size) == (False, True, "2g")


def test_deprecated_attributes_stay_settable():
    environment = Environment("e")
    environment.docker.enabled = True
    environment.docker.base_image = "image"
    environment.docker.shm_size = "4g"
    environment.environment_variables = {"A": "b"}
    RunConfiguration().auto_prepare_environment = True


def distributed(job: object) -> RunConfiguration:
    run_config = RunConfiguration()
    distribute(run_config, job)
    return run_config


def test_mpi_counts_processes_per_node():
    run_config = distributed(MpiConfiguration(process_count_per_node=2, node_count=3))
    assert (run_config.framework, run_config.communicator, run_config.node_count) == ("Python", "IntelMpi", 3)
    assert distribution(run_config) == Distribution("mpi", 3, processes_per_node=2)


def test_tensorflow_uses_one_node_per_worker():
    run_config = distributed(TensorflowConfiguration(worker_count=2, parameter_server_count=1))
    assert (run_config.framework, run_config.communicator) == ("TensorFlow", "ParameterServer")
    assert distribution(run_config) == Distribution("tensorflow", 2, worker_count=2, parameter_server_count=1)


def test_pytorch_counts_processes_in_total():
    run_config = distributed(PyTorchConfiguration("Gloo", process_count=8, node_count=2))
    assert (run_config.framework, run_config.communicator) == ("PyTorch", "gloo")
    assert distribution(run_config) == Distribution("torch", 2, 8, backend="gloo")


def test_the_old_way_to_request_mpi_works():
    run_config = RunConfiguration(communicator="OpenMpi")
    run_config.node_count = 2
    run_config.mpi.process_count_per_node = 4
    assert distribution(run_config) == Distribution("mpi", 2, processes_per_node=4)


def test_unknown_values_are_refused_by_name():
    with pytest.raises(RunConfigurationException, match="'Horovod'"):
        PyTorchConfiguration("Horovod")
    with pytest.raises(RunConfigurationException, match="'pigeon'"):
        distribution(RunConfiguration(communicator="pigeon"))
    with pytest.raises(RunConfigurationException, match="'Cobol'"):
        distribution(RunConfiguration(framework="Cobol"))
    with pytest.raises(RunConfigurationException, match="MpiConfiguration"):
        distributed("mpi")


def test_the_definition_is_camel_case_except_users_keys():
    run_config = RunConfiguration(script="train.py", arguments=["--lr", 0.1])
    run_config.environment_variables = {"my_variable": "1"}
    made = run_definition(run_config)
    assert made["script"] == "train.py" and made["arguments"] == ["--lr", 0.1]
    assert made["nodeCount"] == 1 and made["amlCompute"] == {"vmSize": None, "vmPriority": None}
    assert made["environmentVariables"] == {"my_variable": "1"}
    assert made["environment"]["python"]["userManagedDependencies"] is False
    assert made["pyTorch"]["processCount"] is None and made["history"]["directoriesToWatch"] == ["logs"]


def test_the_text_is_json():
    run_config = RunConfiguration("train.py", ["--n", 3])
    run_config.environment.docker.base_image_registry.password = "hidden"
    data = json.loads(str(run_config))
    assert (data["script"], data["arguments"], data["target"]) == ("train.py", ["--n", 3], "local")
    assert "hidden" not in str(run_config)
