from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml as reference

from footplate.sdk.config.run_configuration import MpiConfiguration, RunConfiguration, distribute, run_definition
from footplate.sdk.environments.conda_dependencies import CondaDependencies
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.values.run_configuration_sections import DataReferenceConfiguration, DockerConfiguration


def full() -> RunConfiguration:
    made = RunConfiguration("train.py", ["--lr", 1e-05, "--n", 3, "yes", "a: b", ""])
    distribute(made, MpiConfiguration(2, 3))
    made.target, made.max_run_duration_seconds, made.priority = "cluster", 600, 5
    made.environment_variables = {"MY_VARIABLE": "on", "N": "1"}
    made.docker = DockerConfiguration(True, arguments=["--x"], shm_size="8g")
    made.history.directories_to_watch = ["logs", "more"]
    made.amlcompute.vm_size = "STANDARD_D2"
    made.data_references = {"mnist": DataReferenceConfiguration("store", path_on_datastore="a/b")}
    environment = made.environment
    environment.name, environment.version = "mine", "4"
    environment.python.conda_dependencies = CondaDependencies.create(
        conda_packages=["numpy"], pip_packages=["six"], python_version="3.9"
    )
    environment.docker.base_dockerfile = "FROM a\nRUN b\n"
    return made


@pytest.mark.parametrize("separate", [False, True])
def test_a_configuration_survives_save_and_load(tmp_path: Path, separate: bool):
    made = full()
    made.save(str(tmp_path), "train", separate_environment_yaml=separate)
    there = ["conda_dependencies.yml", "environment.yml", "train.runconfig"]
    assert sorted(os.listdir(tmp_path / ".azureml")) == (there if separate else [there[0], there[2]])
    again = RunConfiguration.load(str(tmp_path), "train")
    assert run_definition(again) == run_definition(made)
    assert isinstance(again.data_references["mnist"], DataReferenceConfiguration)


def test_the_files_are_yaml_in_camel_case(tmp_path: Path):
    full().save(str(tmp_path), "train")
    data = reference.safe_load((tmp_path / ".azureml" / "train.runconfig").read_text())
    assert data["maxRunDurationSeconds"] == 600 and data["nodeCount"] == 3 and data["communicator"] == "IntelMpi"
    assert data["environment"]["python"]["condaDependenciesFile"] == ".azureml/conda_dependencies.yml"
    assert data["environmentVariables"] == {"MY_VARIABLE": "on", "N": "1"}
    assert data["dataReferences"]["mnist"]["dataStoreName"] == "store"
    packages = reference.safe_load((tmp_path / ".azureml" / "conda_dependencies.yml").read_text())
    assert packages["dependencies"] == ["python=3.9", "numpy", {"pip": ["six"]}]


def test_save_without_arguments_writes_to_the_loaded_file(tmp_path: Path):
    RunConfiguration("a.py").save(str(tmp_path), "train")
    again = RunConfiguration.load(str(tmp_path), "train")
    again.script = "b.py"
    again.save()
    assert os.listdir(tmp_path) == [".azureml"]
    assert RunConfiguration.load(str(tmp_path / ".azureml" / "train.runconfig")).script == "b.py"
    assert RunConfiguration.load(str(tmp_path / ".azureml"), "train.runconfig").script == "b.py"


def test_two_configurations_in_one_directory_keep_their_files(tmp_path: Path):
    first, second = RunConfiguration("a.py"), RunConfiguration("b.py")
    first.environment.python.conda_dependencies.add_pip_package("six")
    for _ in range(2):
        first.save(str(tmp_path), "first", separate_environment_yaml=True)
        second.save(str(tmp_path), "second", separate_environment_yaml=True)
        for name, made in (("first", first), ("second", second)):
            assert run_definition(RunConfiguration.load(str(tmp_path), name)) == run_definition(made)
    second.environment.python.conda_dependencies.add_pip_package("numpy")
    second.save(str(tmp_path), "second")
    packages = RunConfiguration.load(str(tmp_path), "first").environment.python.conda_dependencies
    assert "numpy" not in list(packages.pip_packages)


def test_an_existing_aml_config_directory_is_used(tmp_path: Path):
    (tmp_path / "aml_config").mkdir()
    RunConfiguration("a.py").save(str(tmp_path), "train")
    assert os.listdir(tmp_path) == ["aml_config"]
    assert RunConfiguration.load(str(tmp_path), "train").script == "a.py"
    assert RunConfiguration.load(str(tmp_path), "train").environment.python.conda_dependencies == CondaDependencies()


def test_user_managed_dependencies_need_no_conda_file(tmp_path: Path):
    made = RunConfiguration("a.py")
    made.environment.python.user_managed_dependencies = True
    made.save(str(tmp_path), "train")
    assert os.listdir(tmp_path / ".azureml") == ["train.runconfig"]
    assert RunConfiguration.load(str(tmp_path), "train").environment.python.user_managed_dependencies


AZURES = """\
# The script to run.
script: train.py
# The arguments to the script file.
arguments: []
target: cpu-cluster
framework: Python
communicator: None
autoPrepareEnvironment: true
maxRunDurationSeconds:
nodeCount: 2
environment:
  environmentVariables:
    EXAMPLE_ENV_VAR: EXAMPLE_VALUE
    THREADS: 4
    DEBUG: true
  python:
    userManagedDependencies: false
    interpreterPath: python
    condaDependenciesFile: aml_config/conda_dependencies.yml
  docker:
    enabled: true
    baseImage: some/image:1
    sharedVolumes: true
    gpuSupport: false
    shmSize:
    arguments: []
    baseImageRegistry:
      address:
      username:
      password:
  spark:
    repositories: []
    packages:
    - group: com.microsoft.ml.spark
      artifact: mmlspark_2.11
      version: '0.12'
    precachePackages: true
history:
  outputCollection: true
spark:
  configuration:
    spark.app.name: Azure ML Experiment
    spark.yarn.maxAppAttempts: 1
hdi:
  yarnDeployMode: cluster
tensorflow:
  workerCount: 1
  parameterServerCount: 1
mpi:
  processCountPerNode: 1
dataReferences: {}
sourceDirectoryDataStore:
amlcompute:
  vmSize:
  vmPriority:
  retainCluster: false
  name:
  clusterMaxNodeCount: 1
"""


def test_a_file_written_by_azure_is_read(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "aml_config").mkdir()
    (tmp_path / "aml_config" / "cpu.runconfig").write_text(AZURES)
    (tmp_path / "aml_config" / "conda_dependencies.yml").write_text("dependencies:\n- python=3.6.2\n- pip: [six]\n")
    made = RunConfiguration.load(str(tmp_path), "cpu")
    assert (made.target, made.node_count, made.communicator) == ("cpu-cluster", 2, "None")
    assert made.environment.environment_variables == {
        "EXAMPLE_ENV_VAR": "EXAMPLE_VALUE", "THREADS": "4", "DEBUG": "true",
    }  # fmt: skip
    assert made.environment.python.conda_dependencies.get_python_version() == "3.6.2"
    assert (made.environment.docker.base_image, made.environment.docker.shm_size) == ("some/image:1", "2g")
    assert made.environment.spark.packages[0].artifact == "mmlspark_2.11"
    assert caplog.text == ""


@pytest.mark.parametrize(
    "text, words",
    [
        ("nodeCount: two", "nodeCount of .* is 'two'"),
        ("arguments: --lr 1", "arguments of .* is '--lr 1'"),
        ("history: none", "history of .* is 'none'"),
        ("- a", "is \\['a'\\]"),
        ("a: *b", "line 1, column 4 of"),
        ("environment: env.yml", "names 'env.yml', which does not exist"),
        ("environment:\n  python:\n    condaDependenciesFile: c.yml", "names 'c.yml'"),
    ],
)
def test_an_invalid_file_is_refused_by_name(tmp_path: Path, text: str, words: str):
    (tmp_path / "train.runconfig").write_text(text)
    with pytest.raises(UserErrorException, match=words) as caught:
        RunConfiguration.load(str(tmp_path), "train")
    assert "train.runconfig" in str(caught.value) and "hint: " in str(caught.value)


def test_a_misspelled_key_gives_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "train.runconfig").write_text("nodecont: 2\n")
    RunConfiguration.load(str(tmp_path / "train.runconfig"))
    assert "'nodecont'" in caplog.text and "did you mean 'node_count'" in caplog.text


def test_missing_configurations_are_named(tmp_path: Path):
    RunConfiguration("a.py").save(str(tmp_path), "train")
    with pytest.raises(UserErrorException, match="'other'") as caught:
        RunConfiguration.load(str(tmp_path), "other")
    assert "the configurations there are train" in str(caught.value)
    with pytest.raises(UserErrorException, match="is a directory and not a run configuration"):
        RunConfiguration.load(str(tmp_path))
    missing = str(tmp_path / ".azureml" / "tran.runconfig")
    with pytest.raises(UserErrorException, match="there is no run configuration") as caught:
        RunConfiguration.load(missing)
    assert repr(missing) in str(caught.value) and "the configurations there are train" in str(caught.value)
    RunConfiguration.delete(str(tmp_path), "train")
    with pytest.raises(UserErrorException, match="'train'"):
        RunConfiguration.delete(str(tmp_path), "train")
    with pytest.raises(UserErrorException, match="has no name"):
        RunConfiguration("a.py").save(str(tmp_path))
    with pytest.raises(UserErrorException, match=r"'\.\./x' cannot be the name"):
        RunConfiguration("a.py").save(str(tmp_path), "../x")


def test_a_failed_save_keeps_the_old_file(tmp_path: Path):
    made = RunConfiguration("a.py")
    made.save(str(tmp_path), "train")
    made.arguments = [object()]
    with pytest.raises(UserErrorException, match="cannot be written as YAML"):
        made.save()
    assert RunConfiguration.load(str(tmp_path), "train").script == "a.py"
    assert not [name for name in os.listdir(tmp_path / ".azureml") if name.startswith(".saving")]
