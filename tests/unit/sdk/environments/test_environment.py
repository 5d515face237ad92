from __future__ import annotations

import io
import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from footplate.domain.specs import EnvironmentSpec
from footplate.sdk.config.run_configuration import DockerConfiguration, RunConfiguration
from footplate.sdk.environments.conda_dependencies import CondaDependencies
from footplate.sdk.environments.definition import definition
from footplate.sdk.environments.environment import Environment, EnvironmentDefinition, from_definition
from footplate.sdk.environments.sections import (
    DEFAULT_CPU_IMAGE,
    DEFAULT_GPU_IMAGE,
    ContainerRegistry,
    DockerBuildContext,
    RSection,
    SparkPackage,
)
from footplate.sdk.environments.spec import to_spec
from footplate.sdk.exceptions import UserErrorException

CONTEXT = {"location_type": "git", "location": "https://x.example", "dockerfile_path": "Dockerfile"}
OWN = f"{sys.version_info[0]}.{sys.version_info[1]}"


def with_packages(*conda: str, pip: tuple[str, ...] = ("six",)) -> Environment:
    environment = Environment("mine", environment_variables={})
    environment.python.conda_dependencies = CondaDependencies.create(
        conda_packages=list(conda), pip_packages=list(pip), python_version="3.10"
    )
    return environment


def test_defaults_of_a_new_environment():
    made = Environment("mine")
    assert made.environment_variables == {"EXAMPLE_ENV_VAR": "EXAMPLE_VALUE"}
    assert (made.version, made.asset_id, made.inferencing_stack_version, made.r) == (None, None, None, None)
    assert (made.python.interpreter_path, made.python.user_managed_dependencies) == ("python", False)
    docker = made.docker
    assert (docker.enabled, docker.base_image, docker.shm_size) == (False, DEFAULT_CPU_IMAGE, "2g")
    assert (docker.shared_volumes, docker.arguments, docker.base_dockerfile) == (True, [], None)
    assert (docker.base_image_registry.address, docker.platform.os) == (None, "Linux")
    assert made.spark.precache_packages and made.databricks.pypi_libraries == []


def test_names_must_be_strings():
    with pytest.raises(TypeError):
        Environment(5)  # type: ignore[arg-type]
    assert EnvironmentDefinition().name == "default-environment"


@pytest.mark.parametrize("section", ["python", "docker", "spark", "databricks"])
def test_a_misspelled_attribute_cannot_be_set(section: str):
    with pytest.raises(AttributeError, match="hint"):
        getattr(Environment("mine"), section).no_such_thing = 1
    with pytest.raises(AttributeError, match="did you mean 'user_managed_dependencies'"):
        Environment("mine").python.user_managed_dependancies = True  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="'environment_variable'"):
        Environment("mine", environment_variable={})


# ── Containers ──


def test_image_dockerfile_and_context_exclude_each_other(caplog: pytest.LogCaptureFixture):
    docker = Environment("mine").docker
    docker.base_dockerfile = "FROM a\n"
    assert docker.base_image is None and caplog.text == ""  # nobody had chosen the default image
    docker.base_image = "some/image"
    assert docker.base_dockerfile is None and "docker.base_dockerfile is cleared" in caplog.text
    docker.build_context = DockerBuildContext.from_git("https://x.example/y#main")
    assert docker.base_image is None and "docker.base_image is cleared" in caplog.text
    docker.base_image = None
    assert docker.build_context is not None


def test_a_dockerfile_can_be_a_text_a_path_or_a_file(tmp_path: Path):
    file = tmp_path / "Dockerfile"
    file.write_text("FROM b\n")
    docker = Environment("mine").docker
    for given in ("FROM b\n", str(file), file, io.StringIO("FROM b\n"), io.BytesIO(b"FROM b\n")):
        docker.base_dockerfile = None
        docker.base_dockerfile = given
        assert docker.base_dockerfile == "FROM b\n"
    with pytest.raises(UserErrorException, match=r"nowhere"):
        docker.base_dockerfile = tmp_path / "nowhere"
    with pytest.raises(UserErrorException, match="is 5"):
        docker.base_dockerfile = 5


def test_an_environment_from_an_image(tmp_path: Path):
    (tmp_path / "r.txt").write_text("six\n")
    (tmp_path / "e.yml").write_text("dependencies: [python=3.9, numpy]\n")
    plain = Environment.from_docker_image("mine", "some/image", container_registry={"address": "x.example"})
    assert plain.python.user_managed_dependencies and plain.docker.base_image == "some/image"
    assert plain.docker.base_image_registry.address == "x.example"
    with_pip = Environment.from_docker_image("mine", "some/image", pip_requirements=str(tmp_path / "r.txt"))
    assert not with_pip.python.user_managed_dependencies
    assert list(with_pip.python.conda_dependencies.pip_packages) == ["six"]
    with_conda = Environment.from_docker_image("mine", "some/image", conda_specification=str(tmp_path / "e.yml"))
    assert list(with_conda.python.conda_dependencies.conda_packages) == ["python=3.9", "numpy"]
    with pytest.raises(UserErrorException, match="both conda_specification and pip_requirements"):
        Environment.from_docker_image("mine", "i", conda_specification="a", pip_requirements="b")


def test_an_environment_from_a_dockerfile_or_a_context(tmp_path: Path):
    (tmp_path / "r.txt").write_text("six\n")
    plain = Environment.from_dockerfile("mine", "FROM a\n")
    assert plain.python.user_managed_dependencies and plain.docker.base_dockerfile == "FROM a\n"
    packages = Environment.from_dockerfile("mine", "FROM a\n", pip_requirements=str(tmp_path / "r.txt"))
    assert not packages.python.user_managed_dependencies
    context = DockerBuildContext.from_git("https://x.example/y", "docker/Dockerfile")
    made = Environment.from_docker_build_context("mine", context)
    assert made.docker.build_context is context and made.docker.base_image is None
    with pytest.raises(UserErrorException, match="'azure'"):
        DockerBuildContext("azure", "somewhere")


# ── What is asked of builders ──


def test_user_managed_dependencies_use_an_existing_interpreter():
    environment = Environment("mine")
    environment.python.user_managed_dependencies = True
    assert to_spec(environment).builder == "existing"
    assert to_spec(environment).interpreter == sys.executable
    environment.python.interpreter_path = "/opt/py/bin/python"
    assert to_spec(environment).interpreter == "/opt/py/bin/python"


def test_without_an_environment_the_submitting_python_is_used():
    made = to_spec(RunConfiguration().environment, RunConfiguration().docker)
    assert (made.builder, made.interpreter, made.options) == ("existing", sys.executable, {})


def test_python_and_python3_of_a_folder_are_one_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("python", "python3"):
        (tmp_path / name).symlink_to(sys.executable)
        monkeypatch.setattr(sys, "executable", str(tmp_path / name))
        assert to_spec(RunConfiguration().environment).interpreter == str(tmp_path / "python")
    other = tmp_path / "python3.99"
    other.write_text("another program")
    monkeypatch.setattr(sys, "executable", str(other))
    assert to_spec(RunConfiguration().environment).interpreter == str(other)


def test_azures_own_packages_reach_the_server():
    """It installs what they brought along, in place of them."""
    environment = with_packages(pip=("azureml-defaults", "numpy"))
    environment.environment_variables = {"A": "b", "N": 4}  # type: ignore[dict-item]  # scripts do that
    assert to_spec(environment) == EnvironmentSpec(
        "mine",
        None,
        "venv",
        python="3.10",
        requirements=("azureml-defaults", "numpy"),
        variables={"A": "b", "N": "4"},
    )


def test_packages_added_to_the_default_environment_are_built():
    run_config = RunConfiguration(conda_dependencies=CondaDependencies.create(pip_packages=["numpy"]))
    assert to_spec(run_config.environment).builder == "venv"


def test_conda_packages_use_the_conda_builder():
    environment = with_packages("scikit-learn=1.0", "pip=21", pip=("six", "azureml-defaults"))
    environment.python.conda_dependencies.set_pip_option("--pre")
    assert to_spec(environment) == EnvironmentSpec(
        "mine", None, "conda", python="3.10",
        options={
            "conda": {
                "channels": ["anaconda", "conda-forge"],
                "dependencies": ["python=3.10", "scikit-learn=1.0", "pip=21"],
                "pip": ["--pre", "six", "azureml-defaults"],
            }
        },
    )  # fmt: skip


def test_python_and_pip_alone_need_no_conda():
    assert to_spec(with_packages("pip=21")).builder == "venv"


@pytest.mark.parametrize(
    "wanted, chosen",
    [("python=3.6.2", "3.6.2"), ("python", None), ("python>=3.8", OWN), (f"python>=3.8,<{OWN}", f">=3.8,<{OWN}"),
     ("python>=3.8,!=2.7,<4", OWN), (f"python<={OWN}", OWN), (f"python>{OWN}.1", OWN), ("python<3.7", "<3.7"),
     ("python>99", ">99")],
)  # fmt: skip
def test_a_python_range_that_contains_ours_takes_ours(wanted: str, chosen: str | None):
    assert to_spec(with_packages(wanted)).python == chosen


def test_the_builder_receives_the_container_request():
    environment = with_packages()
    docker = environment.docker
    docker.enabled, docker.base_image, docker.arguments = True, "some/image", ["--cap-add", "x"]
    docker.base_image_registry.address = "x.example"
    assert to_spec(environment).options["docker"] == {
        "enabled": True, "base_image": "some/image", "base_dockerfile": None, "build_context": None,
        "platform": {"os": "Linux", "architecture": "amd64"}, "shm_size": "2g", "arguments": ["--cap-add", "x"],
        "shared_volumes": True, "registry": {"address": "x.example", "username": None}, "interpreter": "python",
    }  # fmt: skip


@pytest.mark.parametrize(
    "name, value",
    [("enabled", True), ("base_image", DEFAULT_GPU_IMAGE), ("base_dockerfile", "FROM a\n"), ("shm_size", "8g"),
     ("arguments", ["-v"]), ("shared_volumes", False), ("build_context", DockerBuildContext("git", "https://x.example"))],
)  # fmt: skip
def test_every_container_setting_reaches_the_builder(name: str, value: Any):
    environment = with_packages()
    assert to_spec(environment).options == {}
    setattr(environment.docker, name, value)
    told = to_spec(environment).options["docker"]
    assert told[name] == (CONTEXT if isinstance(value, DockerBuildContext) else value)
    assert told["base_image"] in (None, DEFAULT_GPU_IMAGE)  # the untouched one is for the builder to choose


def test_the_run_configuration_overrides_the_environment():
    environment = with_packages()
    environment.docker.shm_size, environment.docker.arguments = "4g", ["-a"]
    told = to_spec(environment, DockerConfiguration(use_docker=True)).options["docker"]
    assert (told["enabled"], told["shm_size"], told["arguments"]) == (True, "4g", ["-a"])
    runtime = DockerConfiguration(True, shared_volumes=False, arguments=["-b"], shm_size="8g")
    told = to_spec(environment, runtime).options["docker"]
    assert (told["shm_size"], told["arguments"], told["shared_volumes"]) == ("8g", ["-b"], False)


def test_a_registry_password_travels_in_the_address(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    registry = ContainerRegistry()
    registry.address, registry.username, registry.password = "x.example", "me", "hunter2/"
    environment = Environment.from_docker_image("mine", "some/image", registry)
    told = to_spec(environment)
    assert told.options["docker"]["registry"] == {"address": "https://me:hunter2%2F@x.example", "username": "me"}
    environment.save_to_directory(str(tmp_path / "e"))
    kept = (tmp_path / "e" / "azureml_environment.json").read_text()
    for shown in (str(environment), repr(registry), repr(environment.docker), kept, caplog.text):
        assert "hunter2" not in shown
    assert registry.password == "hunter2/"
    registry.username = None
    with pytest.raises(UserErrorException, match="but not the address or the user name") as caught:
        to_spec(environment)
    assert "hunter2" not in str(caught.value)


# ── As data ──


def full() -> Environment:
    environment = with_packages("numpy")
    environment.version = "3"
    environment.environment_variables = {"my_variable": "1"}
    environment.docker.enabled = True
    environment.docker.base_dockerfile = "FROM a\nRUN b\n"
    environment.docker.base_image_registry.address = "x.example"
    environment.docker.platform.architecture = "arm64"
    environment.spark.packages = [SparkPackage("g", "a", "1")]
    environment.r = RSection()
    environment.r.r_version = "4.0"
    environment.inferencing_stack_version = "latest"
    return environment


def test_the_definition_survives_a_round_trip():
    environment = full()
    again = from_definition(json.loads(json.dumps(definition(environment))))
    assert definition(again) == definition(environment)
    assert again.docker.base_dockerfile == "FROM a\nRUN b\n" and again.docker.base_image is None
    assert again.r is not None and again.r.r_version == "4.0"
    context = Environment.from_docker_build_context("mine", DockerBuildContext("git", "https://x.example", "d/D"))
    assert definition(from_definition(definition(context))) == definition(context)


def test_the_definition_uses_azures_keys():
    made = definition(Environment("mine"))
    assert made["python"]["condaDependencies"]["channels"] == ["anaconda", "conda-forge"]
    assert made["docker"]["baseImage"] == DEFAULT_CPU_IMAGE and made["docker"]["sharedVolumes"] is True
    assert made["spark"] == {"packages": [], "precachePackages": True, "repositories": []}
    assert made["environmentVariables"] == {"EXAMPLE_ENV_VAR": "EXAMPLE_VALUE"}
    assert json.loads(str(Environment("mine")))["name"] == "mine"


def test_wrong_data_is_refused_and_unknown_keys_are_reported(caplog: pytest.LogCaptureFixture):
    for data, words in [
        ({"python": {"userManagedDependencies": "maybe"}}, "userManagedDependencies of python of .* is 'maybe'"),
        ({"docker": {"arguments": "-v"}}, "arguments of docker of .* is '-v'"),
        ({"docker": []}, r"docker of .* is \[\]"),
        ({"environmentVariables": ["A"]}, "environmentVariables of"),
        ({"python": {"condaDependencies": {"nmae": "x"}}}, "nmae"),
    ]:
        with pytest.raises(UserErrorException, match=words):
            from_definition(data)
    with caplog.at_level(logging.WARNING):
        from_definition({"python": {"interpreterPth": "x"}})
    assert "'interpreterPth'" in caplog.text and "did you mean 'interpreter_path'" in caplog.text


def test_clone_drops_the_version_and_shares_nothing():
    environment = full()
    cloned = environment.clone("other")
    cloned.python.conda_dependencies.add_pip_package("torch")
    cloned.docker.arguments.append("-v")
    assert (cloned.name, cloned.version) == ("other", None)
    assert "torch" not in list(environment.python.conda_dependencies.pip_packages)
    assert environment.docker.arguments == []
