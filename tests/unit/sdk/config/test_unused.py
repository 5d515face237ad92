"""Every setting of a run: it changes the request, or a warning names it, or it is refused."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from azureml.core import RunConfiguration, ScriptRunConfig
from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.environment import DockerBuildContext, RSection
from azureml.core.runconfig import ApplicationEndpointConfiguration
from azureml.exceptions import UserErrorException
from footplate.domain.specs import RunSpec
from footplate.sdk.config.script_run_config import to_run_spec
from footplate.sdk.environments.environment import from_definition
from footplate.sdk.values.checked_attributes import flat

DATA_TESTS = "tests/e2e/test_sdk_data.py"
_MPI, _TORCH = {"communicator": "OpenMpi"}, {"communicator": "Gloo"}
_SERVERS = {"communicator": "ParameterServer"}
_BUILT = {"environment.name": "built"}


class Case(NamedTuple):
    """A value that is not the default, the outcome that it has, and the settings that it needs for that."""

    outcome: str
    value: Any
    needs: Mapping[str, Any] = {}


def effect(value: Any, needs: Mapping[str, Any] = {}) -> Case:
    return Case("effect", value, needs)


def warns(value: Any, needs: Mapping[str, Any] = {}) -> Case:
    return Case("warns", value, needs)


CASES: dict[str, Case] = {
    "script": effect("other.py"),
    "arguments": effect(["--rate", 1]),
    "command": effect("echo", {"script": None, "command": "true"}),
    "target": effect("cluster"),
    "framework": warns("PySpark"),
    "communicator": effect("OpenMpi"),
    "max_run_duration_seconds": effect(60),
    "node_count": effect(2),
    "priority": effect(5),
    "gpus": effect(1),
    "gpus_per_process": effect(1),
    "needs_gpus": effect(True),
    "warning_signal": effect("SIGUSR1"),
    "warning_seconds": effect(30.0, {"warning_signal": "SIGUSR1"}),
    "max_attempts": effect(3),
    "restart": effect("always"),
    "restart_causes": effect(["exit"]),
    "restart_backoff_seconds": effect(5.0),
    "notify": effect(True),
    "engine_options": effect({"partition": "long"}),
    "environment_variables": effect({"LEVEL": "1"}),
    "history.output_collection": effect(False),
    "history.snapshot_project": warns(False),
    "history.directories_to_watch": effect(["boards"]),
    "docker.use_docker": effect(True),
    "docker.shared_volumes": warns(False, {"docker.use_docker": True}),
    "docker.arguments": effect(["--cpus=1"]),
    "docker.shm_size": effect("4g"),
    "mpi.process_count_per_node": effect(2, _MPI),
    "mpi.node_count": warns(3, _MPI),
    "tensorflow.worker_count": effect(2, _SERVERS),
    "tensorflow.parameter_server_count": effect(2, _SERVERS),
    "tensorflow.chief": effect(True, _SERVERS),
    "pytorch.communication_backend": warns("Gloo", {"communicator": "Nccl"}),
    "pytorch.process_count": effect(2, _TORCH),
    "pytorch.node_count": warns(3, _TORCH),
    "paralleltask.max_retries_per_worker": warns(1),
    "paralleltask.worker_count_per_node": warns(2),
    "paralleltask.terminal_exit_codes": warns([1]),
    "spark.configuration": warns({"spark.app.name": "mine"}),
    "hdi.yarn_deploy_mode": warns("client"),
    "amlcompute.vm_size": warns("STANDARD_D2_V2"),
    "amlcompute.vm_priority": warns("lowpriority"),
    "kubernetescompute.instance_type": warns("large"),
    "services": warns({"lab": ApplicationEndpointConfiguration("JupyterLab", 8888)}),
    "datacaches": warns(["cache"]),
    "source_directory_data_store": warns("workspaceblobstore"),
    "credential_passthrough": warns(True),
    "auto_prepare_environment": warns(False),
    "environment.name": effect("mine"),
    "environment.version": effect("3"),
    "environment.environment_variables": effect({"LEVEL": "1"}),
    "environment.curated": effect("AzureML-Minimal", _BUILT),
    "environment.inferencing_stack_version": warns("latest"),
    "environment.python.interpreter_path": effect("/usr/bin/python3"),
    "environment.python.user_managed_dependencies": effect(True, _BUILT),
    "environment.python.conda_dependencies": effect(CondaDependencies.create(pip_packages=["six"])),
    "environment.python.conda_dependencies_file": effect("conda.yml"),
    "environment.python.base_conda_environment": warns("base"),
    "environment.docker.enabled": effect(True),
    "environment.docker.base_image": effect("python:3.11"),
    "environment.docker.base_dockerfile": effect("FROM python:3.11\n"),
    "environment.docker.build_context": effect(DockerBuildContext("git", "https://example.com/images.git")),
    "environment.docker.base_image_registry.address": effect("registry.example.com"),
    "environment.docker.base_image_registry.username": effect("ada"),
    "environment.docker.base_image_registry.password": effect(
        "s3cr3t",
        {
            "environment.docker.base_image_registry.address": "registry.example.com",
            "environment.docker.base_image_registry.username": "ada",
        },
    ),
    "environment.docker.base_image_registry.registry_identity": warns("me"),
    "environment.docker.platform.os": Case("error", "Windows"),
    "environment.docker.platform.architecture": warns("arm64"),
    "environment.docker.shm_size": effect("4g"),
    "environment.docker.shared_volumes": warns(False),
    "environment.docker.arguments": effect(["--cpus=1"]),
    "environment.docker.gpu_support": warns(True),
    "environment.spark.repositories": warns(["https://repo.example.com"]),
    "environment.spark.packages": warns(["package"]),
    "environment.spark.precache_packages": warns(False),
    **{
        f"environment.databricks.{kind}_libraries": warns(["numpy"])
        for kind in ("maven", "pypi", "rcran", "jar", "egg")
    },
    "environment.r.r_version": warns("4.3"),
    "environment.r.user_managed": warns(True),
    "environment.r.rscript_path": warns("/usr/bin/Rscript"),
    "environment.r.snapshot_date": warns("2026-01-01"),
    **{
        f"environment.r.{kind}_packages": Case("error", ["dplyr"])
        for kind in ("cran", "github", "custom_url", "bioconductor")
    },
}
"""Name of a public attribute → its outcome."""

ELSEWHERE = {"data": DATA_TESTS, "data_references": DATA_TESTS, "output_data": DATA_TESTS}
"""Attributes whose effects need a workspace, and the suite that shows them."""

IDENTITY = {"environment.asset_id"}
"""Attributes that only Footplate sets."""


@pytest.fixture(autouse=True)
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("")
    (tmp_path / "other.py").write_text("")
    (tmp_path / "conda.yml").write_text("dependencies:\n- python=3.11\n- pip: [six]\n")


def configured(settings: Mapping[str, Any]) -> RunConfiguration:
    config = RunConfiguration("train.py")
    for name, value in settings.items():
        if name.startswith("environment.r.") and config.environment.r is None:
            config.environment.r = RSection()
        *path, last = name.split(".")
        section: Any = config
        for part in path:
            section = getattr(section, part)
        setattr(section, last, value)
    return config


def requested(config: RunConfiguration) -> RunSpec:
    """Return the request without the description that only people read."""
    return replace(to_run_spec(ScriptRunConfig(".", run_config=config), "fit"), definition={})


def test_every_setting_of_a_run_has_a_known_outcome() -> None:
    config = RunConfiguration()
    config.environment.r = RSection()
    assert set(flat(config)) == {*CASES, *ELSEWHERE, *IDENTITY}
    for suite in set(ELSEWHERE.values()):
        assert (Path(__file__).parents[4] / suite).is_file()


def test_defaults_do_not_warn() -> None:
    config = RunConfiguration("train.py")
    config.environment.r = RSection()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        requested(config)
        requested(RunConfiguration("train.py", conda_dependencies=CondaDependencies.create(pip_packages=["six"])))


@pytest.mark.parametrize("name", CASES)
def test_no_setting_is_silently_ignored(name: str) -> None:
    outcome, value, needs = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = requested(configured(needs))
    config = configured({**needs, name: value})
    if outcome == "error":
        with pytest.raises(UserErrorException, match=name.replace("environment.", "").replace(".", r"\.")):
            requested(config)
        return
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        changed = requested(config)
    if outcome == "warns":
        assert [str(each.message).split(" ")[0] for each in seen] == [name]
    else:
        assert not seen
        assert changed != plain, f"{name} changes nothing"


def messages(config: RunConfiguration) -> list[str]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        requested(config)
    return [str(each.message) for each in seen]


def test_all_settings_without_effect_are_in_one_warning() -> None:
    config = configured({"mpi.process_count_per_node": 4, "hdi.yarn_deploy_mode": "client"})
    assert messages(config) == [
        "hdi.yarn_deploy_mode, mpi.process_count_per_node have no effect here: "
        "Footplate runs nothing on HDInsight; communicator is 'none'"
    ]


@pytest.mark.parametrize(
    "settings, word",
    [
        ({"tensorflow.worker_count": 2, "communicator": "Nccl"}, "tensorflow.worker_count"),
        ({"pytorch.process_count": 2, "communicator": "OpenMpi"}, "pytorch.process_count"),
        (
            {"environment.name": "x", "environment.python.interpreter_path": "/py"},
            "environment.python.interpreter_path",
        ),
        (
            {
                "environment.python.user_managed_dependencies": True,
                "environment.python.conda_dependencies": CondaDependencies.create(pip_packages=["six"]),
            },
            "environment.python.conda_dependencies",
        ),
    ],
)
def test_settings_that_another_one_leaves_unused(settings: dict[str, Any], word: str) -> None:
    (message,) = messages(configured(settings))
    assert message.startswith(f"{word} has no effect here: ")


def test_settings_of_the_chosen_kind_do_not_warn() -> None:
    assert messages(configured({"amlcompute.vm_size": "STANDARD_D2_V2", "target": "amlcompute"})) == []
    inside = {"environment.python.interpreter_path": "/py", "environment.docker.base_image": "python:3.11"}
    assert messages(configured({"environment.name": "x", **inside})) == []


def test_spark_packages_of_azures_own_files_do_not_warn() -> None:
    definition = {
        "name": "azures",
        "spark": {
            "repositories": ["https://mmlspark.azureedge.net/maven"],
            "packages": [{"group": "com.microsoft.ml.spark", "artifact": "mmlspark_2.11", "version": "0.12"}],
            "precachePackages": True,
        },
    }
    config = RunConfiguration("train.py")
    config.environment = from_definition(definition)
    assert messages(config) == []
