from __future__ import annotations

import base64
import json
import os
import socket
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from footplate import environments
from footplate.domain.locks import packages
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import ResolverSettings
from footplate.environments.containers import container_engine
from footplate.environments.containers.container_builder import ContainerBuilder
from footplate.environments.containers.container_engine import ContainerEngine
from footplate.environments.url_credentials import Logins
from footplate.errors import Broken, InvalidInput
from support.images import ENGINE, make_image

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def asks(builder: str = "venv", **docker: Any) -> EnvironmentSpec:
    needs = ("tiny",) if builder == "venv" else ()
    interpreter = sys.executable if builder == "existing" else None
    python = None if builder == "existing" else PYTHON
    return EnvironmentSpec(
        builder=builder, python=python, interpreter=interpreter, requirements=needs, options={"docker": docker}
    )


@pytest.fixture
def no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine where neither podman nor docker is installed."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def program(folder: Path, name: str, *lines: str) -> None:
    path = folder / "bin" / name
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)


def resolve(spec: EnvironmentSpec, tmp_path: Path, **rules: Any) -> Any:
    said = list[str]()
    lock = environments.resolve(spec, ResolverSettings(tmp_path / "e", **rules), said.append)
    return lock, said


@pytest.mark.usefixtures("no_engine", "wheels")
def test_without_an_engine_a_warning_lists_what_was_not_used(tmp_path: Path) -> None:
    spec = asks(enabled=True, base_image="some/image:7", arguments=["--cap-add", "x"], shm_size="8g")
    lock, said = resolve(spec, tmp_path)
    assert lock.builder == "venv"
    (warning,) = lock.warnings
    assert warning == (
        "the run uses a virtual environment and no container: neither podman nor docker answers on this machine; "
        "not used: the image some/image:7, the arguments --cap-add x, shm_size 8g"
    )
    assert warning in said
    again, _ = resolve(EnvironmentSpec(builder="venv", python=PYTHON, requirements=("tiny",)), tmp_path)
    assert again.digest == lock.digest and again.warnings == ()  # the same environment, without the warning


@pytest.mark.usefixtures("no_engine", "wheels")
def test_the_warning_names_a_dockerfile_or_docker_enabled(tmp_path: Path) -> None:
    lock, _ = resolve(asks("existing", base_dockerfile="FROM a\nRUN b\n"), tmp_path, containers="ignore")
    assert lock.builder == "existing"
    assert "the interpreter of this machine and no container" in lock.warnings[0]
    assert lock.warnings[0].endswith("not used: the Dockerfile (FROM a, 2 lines)")
    lock, _ = resolve(asks(enabled=True), tmp_path)
    assert lock.warnings[0].endswith("not used: docker.enabled")
    lock, _ = resolve(asks(shm_size="8g"), tmp_path)
    assert lock.warnings == ()  # it says how a container would be started, not that there shall be one


@pytest.mark.usefixtures("no_engine", "wheels")
def test_settings_can_require_or_ignore_containers(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"neither podman nor docker answers.*containers = require") as caught:
        resolve(asks(base_image="some/image"), tmp_path, containers="require")
    assert "install podman" in (caught.value.hint or "")
    lock, _ = resolve(asks(base_image="some/image"), tmp_path, containers="ignore")
    assert "the setting containers = ignore excludes them" in lock.warnings[0]


@pytest.mark.usefixtures("no_engine")
def test_an_engine_that_does_not_answer_is_not_used(tmp_path: Path) -> None:
    program(tmp_path, "docker", "echo 'Cannot connect to the Docker daemon' >&2", "exit 1")
    assert container_engine.find() is None


@pytest.mark.usefixtures("no_engine")
def test_docker_is_used_where_podman_does_not_work(tmp_path: Path) -> None:
    program(tmp_path, "podman", "exit 125")
    program(tmp_path, "docker", "echo 28.2.2")
    assert container_engine.find() == ContainerEngine("docker", str(tmp_path / "bin" / "docker"))


@pytest.mark.usefixtures("no_engine", "wheels")
def test_a_default_image_that_cannot_be_pulled_is_no_failure(tmp_path: Path) -> None:
    refuses = ('[ "$1" = info ] && { echo amd64; exit 0; }', "echo 'no route to registry' >&2", "exit 125")
    program(tmp_path, "podman", *refuses)
    lock, _ = resolve(asks(enabled=True), tmp_path)
    assert lock.builder == "venv"
    assert f"python:{PYTHON}-slim' cannot be pulled" in lock.warnings[0]
    with pytest.raises(InvalidInput, match="containers = require"):
        resolve(asks(enabled=True), tmp_path, containers="require")


@pytest.mark.usefixtures("no_engine", "wheels")
def test_conda_packages_name_an_image_by_its_python_version(tmp_path: Path) -> None:
    refuses = ('[ "$1" = info ] && { echo amd64; exit 0; }', "echo 'no route to registry' >&2", "exit 125")
    program(tmp_path, "podman", *refuses)
    conda = {"channels": [], "dependencies": [f"python={PYTHON}", "tiny=1.0"], "pip": []}
    spec = EnvironmentSpec(builder="conda", python=PYTHON, options={"docker": {"enabled": True}, "conda": conda})
    with pytest.raises(InvalidInput, match=rf"python:{PYTHON}-slim' cannot be pulled"):
        ContainerBuilder().lock(spec, ResolverSettings(tmp_path / "e"), print)


@pytest.mark.usefixtures("no_engine", "wheels")
def test_packages_replace_an_image_whose_registry_is_down(tmp_path: Path) -> None:
    program(tmp_path, "podman", '[ "$1" = info ] && { echo amd64; exit 0; }', "echo refused >&2", "exit 125")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    image = f"127.0.0.1:{port}/some/image"
    lock, _ = resolve(asks(base_image=image), tmp_path)
    assert lock.builder == "venv"
    assert f"127.0.0.1:{port} does not answer; not used: the image {image}" in lock.warnings[0]
    with pytest.raises(InvalidInput, match="does not answer") as caught:
        resolve(asks("existing", base_image=image), tmp_path)
    assert "containers = ignore" in (caught.value.hint or "")
    with pytest.raises(InvalidInput, match="containers = require"):
        resolve(asks(base_image=image), tmp_path, containers="require")


OTHER = "3.8" if PYTHON != "3.8" else "3.9"


@pytest.mark.usefixtures("no_engine", "wheels")
@pytest.mark.parametrize("builder", ["venv", "existing", "conda"])
@pytest.mark.parametrize(
    "docker",
    [
        {"base_image": f"python:{PYTHON}-slim"},
        {"base_image": f"registry.example/team/torch:1.9-py{PYTHON.replace('.', '')}-cuda"},
        {"base_image": "some/image", "interpreter": f"/usr/bin/python{PYTHON}"},
        {"base_dockerfile": f"FROM docker.io/library/python:{PYTHON}.1 AS first\nFROM a:py37\nFROM first\nRUN b\n"},
    ],
)
def test_the_fallback_keeps_the_python_of_the_image(builder: str, docker: dict[str, Any], tmp_path: Path) -> None:
    """The requests carry the version of Azure's template, which nobody chose."""
    template = "3.8.13" if PYTHON != "3.8" else "3.10.18"
    options: dict[str, Any] = {"docker": docker}
    if builder == "conda":
        options["conda"] = {"channels": [], "dependencies": [f"python={template}", "tiny=1.0"], "pip": []}
    python, interpreter = (None, sys.executable) if builder == "existing" else (template, None)
    needs = ("tiny",) if builder == "venv" else ()
    spec = EnvironmentSpec(builder=builder, python=python, interpreter=interpreter, requirements=needs, options=options)
    lock, _ = resolve(spec, tmp_path, conda="map")
    assert lock.content["python"] == PYTHON
    assert f"a virtual environment with Python {PYTHON} of the image and no container" in lock.warnings[-1]
    assert ("tiny" in packages(lock)) is (builder != "existing")


@pytest.mark.usefixtures("no_engine", "wheels")
def test_a_chosen_python_is_kept_without_the_image(tmp_path: Path) -> None:
    lock, _ = resolve(asks(base_image=f"python:{OTHER}"), tmp_path)
    assert lock.content["python"] == PYTHON  # the one that the request names


@pytest.mark.usefixtures("no_engine", "wheels")
@pytest.mark.parametrize("image", ["some/image:3.9", "python:3", "nvcr.example/torch:22.01-py3"])
def test_no_fallback_when_the_python_of_the_image_is_unknown(image: str, tmp_path: Path) -> None:
    spec = replace(asks(base_image=image), python="3.8.13")
    with pytest.raises(InvalidInput, match=rf"nothing names the Python version of the image {image!r}") as caught:
        resolve(spec, tmp_path)
    assert "neither podman nor docker answers" in caught.value.message
    assert "python=3.11" in (caught.value.hint or "") and "containers = ignore" in (caught.value.hint or "")
    azure = replace(asks(base_image="mcr.microsoft.com/azureml/openmpi4.1.0-ubuntu22.04"), python="3.8.13")
    lock, _ = resolve(azure, tmp_path)  # such images have no Python for jobs: it comes with the packages
    assert lock.builder == "venv"


@pytest.mark.usefixtures("no_engine", "wheels")
def test_no_fallback_to_another_python_than_that_of_the_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")
    with pytest.raises(InvalidInput, match=r"Python 3\.6 of the image 'python:3\.6' cannot be used here"):
        resolve(replace(asks(base_image="python:3.6"), python="3.8.13"), tmp_path)


@pytest.mark.usefixtures("no_engine", "wheels")
def test_an_image_that_its_registry_lacks_is_an_error(tmp_path: Path) -> None:
    program(tmp_path, "podman", '[ "$1" = info ] && { echo amd64; exit 0; }', "echo manifest unknown >&2", "exit 125")
    with socket.create_server(("127.0.0.1", 0)) as registry:
        address = f"127.0.0.1:{registry.getsockname()[1]}"
        with pytest.raises(
            InvalidInput, match=f"the image '{address}/image' cannot be pulled.*manifest unknown"
        ) as caught:
            resolve(asks(base_image="image", registry={"address": address}), tmp_path)
    assert f"podman login {address}" in (caught.value.hint or "")


@pytest.mark.usefixtures("no_engine")
@pytest.mark.parametrize("name", ["podman", "docker"])
def test_a_login_goes_to_its_registry_only_and_not_in_arguments(tmp_path: Path, name: str) -> None:
    place = '"$REGISTRY_AUTH_FILE"' if name == "podman" else '"$DOCKER_CONFIG/config.json"'
    shell = '{ read -r line; echo "$line"; }'
    program(
        tmp_path, name, '[ "$1" = image ] && exit 1', f'echo "$@" >> {tmp_path}/told',
        f"[ -e {place} ] && {shell} < {place} >> {tmp_path}/told", "exit 0",
    )  # fmt: skip
    engine, logins = (
        ContainerEngine(name, str(tmp_path / "bin" / name)),
        Logins({"https://my.example": "https://me:s3cret@my.example"}),
    )
    for image in ("my.example/a:1", "other.example/a:1"):
        with pytest.raises(Broken, match="does not have it"):
            engine.pull(image, lambda _: None, logins)
    first, shown, second = (tmp_path / "told").read_text().splitlines()
    assert (first, second) == ("pull my.example/a:1", "pull other.example/a:1")
    assert json.loads(shown) == {"auths": {"my.example": {"auth": base64.b64encode(b"me:s3cret").decode()}}}
    assert "s3cret" not in repr(logins)


def test_arguments_that_footplate_sets_are_refused(python_image: str, tmp_path: Path) -> None:
    spec = EnvironmentSpec(builder="container", options={"docker": {"base_image": python_image, "arguments": ["-d"]}})
    with pytest.raises(InvalidInput, match=r"docker.arguments has '-d'"):
        ContainerBuilder().lock(spec, ResolverSettings(tmp_path), lambda _: None)


def test_from_lines_are_pinned_and_stages_are_not(python_image: str, tmp_path: Path) -> None:
    # An image of its own: once a test has pushed the shared one, it can be pinned by that registry.
    unpushed = make_image(tmp_path, {}, "localhost/footplate-test-unpushed:1")
    text = f"FROM {unpushed} AS first\nRUN echo a > /a\nFROM first\nRUN echo b > /b\n"
    spec = EnvironmentSpec(builder="container", options={"docker": {"base_dockerfile": text}})
    said = list[str]()
    lock = ContainerBuilder().lock(spec, ResolverSettings(tmp_path / "e"), said.append)
    assert lock.content["base"]["dockerfile"] == text  # of this machine alone: there is nothing to pin it by
    assert any("RUN echo b" in line for line in said), said
    again = ContainerBuilder().lock(spec, ResolverSettings(tmp_path / "e"), said.append)
    assert again == lock
    broken = EnvironmentSpec(builder="container", options={"docker": {"base_dockerfile": text + "RUN exit 3\n"}})
    with pytest.raises(Broken, match="podman build failed"):
        ContainerBuilder().lock(broken, ResolverSettings(tmp_path / "e"), said.append)


def test_a_dockerfile_without_context_can_copy_from_stages(python_image: str, tmp_path: Path) -> None:
    text = f"FROM {python_image} AS first\nRUN echo a > /a\nFROM {python_image}\nCOPY --from=first /a /b\nRUN cat /b\n"
    spec = EnvironmentSpec(builder="container", options={"docker": {"base_dockerfile": text}})
    assert ContainerBuilder().lock(spec, ResolverSettings(tmp_path / "e"), lambda _: None).builder == "container"


def test_recipes_are_refused_for_images(python_image: str, tmp_path: Path) -> None:
    docker = {"base_image": python_image}
    spec = EnvironmentSpec(builder="container", requirements=("torch", "horovod"), options={"docker": docker})
    with pytest.raises(InvalidInput, match="horovod is built from source"):
        ContainerBuilder().lock(spec, ResolverSettings(tmp_path / "e"), lambda _: None)


def test_an_image_without_python_is_refused(python_image: str, tmp_path: Path) -> None:
    docker = {"base_image": python_image, "interpreter": "/opt/conda/bin/python"}
    with pytest.raises(InvalidInput, match="has no Python that starts as '/opt/conda/bin/python'"):
        ContainerBuilder().lock(
            EnvironmentSpec(builder="container", options={"docker": docker}), ResolverSettings(tmp_path), lambda _: None
        )


def test_an_image_with_another_python_gives_a_warning(python_image: str, tmp_path: Path, wheels: Path) -> None:
    spec = EnvironmentSpec(
        builder="container", python="3.7", requirements=("tiny",), options={"docker": {"base_image": python_image}}
    )
    lock = ContainerBuilder().lock(spec, ResolverSettings(tmp_path / "e"), lambda _: None)
    assert lock.content["python"] == PYTHON
    assert "Python 3.7 was requested" in lock.warnings[0]
    with pytest.raises(InvalidInput, match="interpreters = exact"):
        ContainerBuilder().lock(spec, ResolverSettings(tmp_path / "e", "exact"), lambda _: None)


def test_images_contain_no_addresses_or_paths_of_this_machine(
    python_image: str, tmp_path: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "http://me:s3cret@127.0.0.1:9/simple")
    spec = EnvironmentSpec(
        builder="container", requirements=("tiny",), options={"docker": {"base_image": python_image}}
    )
    lock = ContainerBuilder().lock(spec, ResolverSettings(tmp_path / "e"), lambda _: None)
    said = list[str]()
    made = ContainerBuilder().build(lock, tmp_path / "e", said.append).container
    assert made is not None
    about = os.popen(f"{ENGINE} inspect {made.image}; {ENGINE} history --no-trunc {made.image}").read()
    assert "s3cret" not in about and str(wheels) not in about and "UV_" not in about
    assert "s3cret" not in "\n".join(said)
