"""Azure's `Environment`, `CondaDependencies` and their sections, line by line, through Azure's own import paths."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from azureml.core import Environment
from azureml.core import environment as azure_environment
from azureml.core import runconfig as azure_runconfig
from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.container_registry import ContainerRegistry
from azureml.core.runconfig import DEFAULT_CPU_IMAGE, DEFAULT_GPU_IMAGE, DockerConfiguration, RunConfiguration
from azureml.exceptions import UserErrorException

OWN = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("Dockerfile").write_text("FROM from-a-file\n")
    Path("env.yml").write_text("channels: [conda-forge]\ndependencies: [numpy, {pip: [six]}]\n")
    Path("requirements.txt").write_text("six==1.16.0\n")


# ── What a new one holds, and what may be set ─────────────────────────────────────────────────────────────────────────

DEFAULTS = {
    "python.interpreter_path": "python",
    "python.user_managed_dependencies": False,
    "docker.enabled": False,
    "docker.base_image": DEFAULT_CPU_IMAGE,
    "docker.base_image_registry.address": None,
    "docker.base_image_registry.username": None,
    "docker.base_image_registry.password": None,
    "docker.base_dockerfile": None,
    "docker.build_context": None,
    "docker.shm_size": "2g",
    "docker.shared_volumes": True,
    "docker.arguments": [],
    "environment_variables": {"EXAMPLE_ENV_VAR": "EXAMPLE_VALUE"},
    "inferencing_stack_version": None,
    "version": None,
    "asset_id": None,
    "r": None,
}


def reach(thing: Any, path: str) -> Any:
    for name in path.split("."):
        thing = getattr(thing, name)
    return thing


@pytest.mark.parametrize("path", DEFAULTS)
def test_default(path: str) -> None:
    assert reach(Environment("mine"), path) == DEFAULTS[path]
    assert reach(Environment(name="mine", workspace=None), path) == DEFAULTS[path]


@pytest.mark.parametrize(
    "path", ["python", "docker", "spark", "databricks", "docker.platform", "python.conda_dependencies"]
)
def test_section(path: str) -> None:
    assert reach(Environment("mine"), path) is not None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("docker.enabled", True),
        ("docker.gpu_support", True),
        ("docker.shm_size", "8g"),
        ("docker.shared_volumes", False),
        ("docker.arguments", ["--privileged"]),
        ("docker.base_image", "other"),
        ("docker.base_image", DEFAULT_GPU_IMAGE),
        ("docker.base_image_registry", ContainerRegistry()),
        ("docker.base_image_registry.password", "x"),
        ("python.interpreter_path", "/opt/python"),
        ("python.user_managed_dependencies", True),
        ("python.conda_dependencies", CondaDependencies()),
        ("environment_variables", {"A": "b"}),
        ("inferencing_stack_version", "latest"),
    ],
)
def test_stays_settable(path: str, value: Any) -> None:
    made = Environment("mine")
    where, _, name = path.rpartition(".")
    setattr(reach(made, where) if where else made, name, value)
    assert reach(made, path) == value


@pytest.mark.parametrize(
    "path", ["", "python", "docker", "spark", "databricks", "docker.platform", "docker.base_image_registry"]
)
def test_what_does_not_exist_cannot_be_set(path: str) -> None:
    made = Environment("mine")
    with pytest.raises(AttributeError, match="misspelt"):
        (reach(made, path) if path else made).misspelt = 1


@pytest.mark.parametrize("name", [None, 5, b"mine", ["mine"]])
def test_a_name_is_a_string(name: Any) -> None:
    with pytest.raises(TypeError):
        Environment(name)


@pytest.mark.parametrize("module", [azure_environment, azure_runconfig])
def test_conda_dependencies_and_images_are_importable_from_everywhere(module: Any) -> None:
    assert module.CondaDependencies is CondaDependencies
    assert (module.DEFAULT_CPU_IMAGE, module.DEFAULT_GPU_IMAGE) == (DEFAULT_CPU_IMAGE, DEFAULT_GPU_IMAGE)


@pytest.mark.parametrize("given", ["FROM text\nRUN x\n", "Dockerfile", io.StringIO("FROM an-open-file\n")])
def test_a_dockerfile_is_a_text_a_path_or_a_file(given: Any) -> None:
    made = Environment("mine")
    made.docker.base_dockerfile = given
    assert str(made.docker.base_dockerfile).startswith("FROM ") and made.docker.base_image is None


# ── Made from something ───────────────────────────────────────────────────────────────────────────────────────────────


def pip_of(made: Environment) -> list[str]:
    return list(made.python.conda_dependencies.pip_packages)


MADE: dict[str, tuple[Callable[[], Environment], Callable[[Environment], bool]]] = {
    "from_conda_specification adds the default python": (
        lambda: Environment.from_conda_specification(name="mine", file_path="env.yml"),
        lambda made: made.python.conda_dependencies.get_python_version() == "3.8.13" and pip_of(made) == ["six"],
    ),
    "from_pip_requirements": (
        lambda: Environment.from_pip_requirements("mine", "requirements.txt"),
        lambda made: pip_of(made) == ["six==1.16.0"],
    ),
    "from_pip_requirements, pip_version": (
        lambda: Environment.from_pip_requirements("mine", "requirements.txt", pip_version="21.0"),
        lambda made: "pip=21.0" in list(made.python.conda_dependencies.conda_packages),
    ),
    "from_docker_image without packages is user managed": (
        lambda: Environment.from_docker_image("mine", "image:1"),
        lambda made: made.docker.base_image == "image:1" and made.python.user_managed_dependencies,
    ),
    "from_docker_image, conda_specification": (
        lambda: Environment.from_docker_image("mine", "image:1", conda_specification="env.yml"),
        lambda made: pip_of(made) == ["six"] and not made.python.user_managed_dependencies,
    ),
    "from_docker_image, container_registry": (
        lambda: Environment.from_docker_image("mine", "image:1", container_registry=ContainerRegistry()),
        lambda made: made.docker.base_image_registry.address is None,
    ),
    "from_dockerfile without dependencies is user managed": (
        lambda: Environment.from_dockerfile("mine", "Dockerfile"),
        lambda made: made.docker.base_dockerfile == "FROM from-a-file\n" and made.python.user_managed_dependencies,
    ),
    "from_dockerfile, pip_requirements": (
        lambda: Environment.from_dockerfile("mine", "Dockerfile", pip_requirements="requirements.txt"),
        lambda made: pip_of(made) == ["six==1.16.0"] and not made.python.user_managed_dependencies,
    ),
    "clone": (
        lambda: Environment("other").clone("mine"),
        lambda made: made.version is None,
    ),
}


@pytest.mark.parametrize("row", MADE)
def test_made(row: str) -> None:
    make, holds = MADE[row]
    made = make()
    assert made.name == "mine" and holds(made)


@pytest.mark.parametrize("files", [{"azureml_environment.json", "conda_dependencies.yml"}, {"BaseDockerfile"}])
def test_saved_to_a_directory_and_loaded(files: set[str]) -> None:
    made = Environment("mine")
    made.docker.base_dockerfile = "FROM a\n"
    made.save_to_directory("saved")
    assert files <= {path.name for path in Path("saved").iterdir()}
    assert Environment.load_from_directory("saved").docker.base_dockerfile == "FROM a\n"
    with pytest.raises(UserErrorException):
        made.save_to_directory("saved")
    made.save_to_directory("saved", overwrite=True)


# ── CondaDependencies ─────────────────────────────────────────────────────────────────────────────────────────────────

Change = Callable[[CondaDependencies], Any]
CHANGES: dict[str, tuple[Change, str, list[str]]] = {
    "add_channel": (lambda c: c.add_channel("pytorch"), "conda_channels", ["anaconda", "conda-forge", "pytorch"]),
    "remove_channel": (lambda c: c.remove_channel("anaconda"), "conda_channels", ["conda-forge"]),
    "add_conda_package": (lambda c: c.add_conda_package("numpy"), "conda_packages", ["python=3.8.13", "numpy"]),
    "remove_conda_package": (lambda c: c.remove_conda_package("python"), "conda_packages", []),
    "add_pip_package": (lambda c: c.add_pip_package("six"), "pip_packages", ["azureml-defaults", "six"]),
    "add_pip_package replaces": (
        lambda c: c.add_pip_package("azureml-defaults==1.0"),
        "pip_packages",
        ["azureml-defaults==1.0"],
    ),
    "remove_pip_package": (lambda c: c.remove_pip_package("azureml-defaults"), "pip_packages", []),
    "set_pip_option": (lambda c: c.set_pip_option("--pre"), "pip_options", ["--pre"]),
    "remove_pip_option": (lambda c: (c.set_pip_option("--pre"), c.remove_pip_option("--pre")), "pip_options", []),
    "set_pip_requirements": (lambda c: c.set_pip_requirements(["a", "b"]), "pip_packages", ["a", "b"]),
    "set_pip_index_url": (lambda c: c.set_pip_index_url("http://x"), "pip_options", ["--index-url http://x"]),
    "set_python_version": (lambda c: c.set_python_version("3.8"), "conda_packages", ["python=3.8"]),
    "add_tensorflow_conda_package": (
        lambda c: c.add_tensorflow_conda_package(core_type="gpu", version="1.13"),
        "conda_packages",
        ["python=3.8.13", "tensorflow-gpu=1.13"],
    ),
    "add_tensorflow_pip_package": (
        lambda c: c.add_tensorflow_pip_package(),
        "pip_packages",
        ["azureml-defaults", "tensorflow"],
    ),
    "add_cntk_package": (lambda c: c.add_cntk_package(), "pip_packages", ["azureml-defaults", "cntk"]),
}


@pytest.mark.parametrize("row", CHANGES)
def test_conda_dependencies(row: str) -> None:
    change, where, wanted = CHANGES[row]
    made = CondaDependencies()
    change(made)
    assert list(getattr(made, where)) == wanted
    assert next(getattr(made, where), None) == (wanted[0] if wanted else None), "an iterator, not a list"
    again = CondaDependencies(made.save_to_file(".", "saved.yml") and "saved.yml")
    assert again.serialize_to_string() == made.serialize_to_string() and again.as_dict() == made.as_dict()


@pytest.mark.parametrize(
    ("given", "pip"),
    [
        ({}, ["azureml-defaults"]),
        ({"pip_packages": ["six"]}, ["six"]),
        ({"pip_packages": []}, []),
        ({"conda_packages": ["numpy"]}, ["azureml-defaults"]),
        ({"pip_packages": ["azureml-sdk"], "pin_sdk_version": False}, ["azureml-sdk"]),
    ],
)
def test_create(given: dict[str, Any], pip: list[str]) -> None:
    made = CondaDependencies.create(python_version="3.9", **given)
    assert list(made.pip_packages) == pip and made.get_python_version() == "3.9"
    assert list(made.conda_packages)[1:] == given.get("conda_packages", [])


def test_a_key_that_conda_does_not_know_is_refused() -> None:
    Path("bad.yml").write_text("dependencys: [numpy]\n")
    with pytest.raises(UserErrorException, match="dependencys"):
        CondaDependencies("bad.yml")


# ── §5: the files of a run configuration ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("target", "cluster"),
        ("framework", "PyTorch"),
        ("communicator", "Nccl"),
        ("node_count", 3),
        ("max_run_duration_seconds", 60),
        ("environment_variables", {"A": "b: c"}),
        ("docker.use_docker", True),
        ("docker.shm_size", "8g"),
        ("environment.environment_variables", {"X": "1"}),
        ("environment.docker.base_image", "image:1"),
        ("environment.python.user_managed_dependencies", True),
        ("history.snapshot_project", False),
        ("mpi.process_count_per_node", 4),
        ("tensorflow.worker_count", 2),
        ("script", "train.py"),
        ("arguments", ["--lr", "0.1", "--name", "yes"]),
    ],
)
@pytest.mark.parametrize("separate", [False, True])
def test_saved_as_runconfig_and_loaded(field: str, value: Any, separate: bool) -> None:
    config = RunConfiguration()
    where, _, name = field.rpartition(".")
    setattr(reach(config, where) if where else config, name, value)
    config.save(path=".", name="mine", separate_environment_yaml=separate)
    names = {path.name for path in Path(".azureml").iterdir()}
    assert "mine.runconfig" in names and ("environment.yml" in names) == separate
    assert reach(RunConfiguration.load(".", "mine"), field) == value
    RunConfiguration.delete(".", "mine")
    with pytest.raises(UserErrorException):
        RunConfiguration.load(".", "mine")


@pytest.mark.parametrize(
    ("given", "wanted"),
    [({}, (False, True, [], "2g")), ({"use_docker": True, "shm_size": "8g"}, (True, True, [], "8g"))],
)
def test_docker_configuration(given: dict[str, Any], wanted: tuple[Any, ...]) -> None:
    made = DockerConfiguration(**given)
    assert (made.use_docker, made.shared_volumes, made.arguments, made.shm_size) == wanted
