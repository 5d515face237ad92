from __future__ import annotations

import sys
from pathlib import Path

import pytest

from footplate.sdk.environments.environment import Environment
from footplate.sdk.exceptions import WebserviceException
from footplate.sdk.models.dockerfile import base_image, container, secrets, text
from footplate.sdk.models.inference_config import InferenceConfig

OWN = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def script(tmp_path: Path) -> str:
    (tmp_path / "score.py").write_text("def run(data):\n    return data\n")
    return str(tmp_path / "score.py")


@pytest.mark.parametrize(
    ("asked", "python", "expected"),
    [
        ({}, "3.9.2", "docker.io/library/python:3.9-slim"),
        ({}, ">=3.8,<4", "docker.io/library/python:3.12-slim"),
        ({"base_image": "mine:1"}, "3.11", "mine:1"),
        ({"base_image": "mine:1", "registry": {"address": "https://u:p@r.io/"}}, "3.11", "r.io/mine:1"),
        ({"base_image": "r.io/mine:1", "registry": {"address": "r.io"}}, "3.11", "r.io/mine:1"),
    ],
)
def test_the_base_image_has_its_registry(asked: dict[str, object], python: str, expected: str) -> None:
    assert base_image(asked, python) == expected


def test_a_complete_image_gets_no_packages(script: str) -> None:
    environment = Environment.from_docker_image("ready", "ready:1")
    environment.python.interpreter_path = "/opt/conda/bin/python"
    found = text("i:1", container(InferenceConfig(script, environment=environment)), "3.11", is_complete=True)
    assert "FROM ready:1\n" in found and "requirements.txt" not in found
    assert '"--python", "/opt/conda/bin/python"]' in found


@pytest.mark.parametrize(
    ("image", "python", "base", "chosen"),
    [
        ("mine:1", "3.8.13", "mine:1", "python"),  # the version of a template: nobody asked for it
        ("mine:1", "3.9", "mine:1", "3.9"),
        (None, "3.9", "docker.io/library/python:3.9-slim", "3.9"),
        (None, None, f"docker.io/library/python:{OWN}-slim", OWN),
    ],
)
def test_python_is_the_requested_one_or_the_images(image: str, python: str, base: str, chosen: str) -> None:
    found = text("i:1", {"base_image": image}, python, is_complete=False)
    assert f"FROM {base}\n" in found and f'uv venv --python "{chosen}" /opt/environment' in found


def test_the_older_style_names_a_base_image(script: str) -> None:
    config = InferenceConfig(script, base_image="ready:1")
    assert base_image(container(config), "3.11") == "ready:1"
    assert container(None) == {}


def test_a_dockerfile_of_the_environment_is_refused(script: str) -> None:
    environment = Environment.from_dockerfile("built", "FROM scratch\n")
    with pytest.raises(WebserviceException, match="'built' has a Dockerfile"):
        container(InferenceConfig(script, environment=environment))


def test_a_build_gets_the_index_and_certificates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.pem").write_text("certificate")
    (tmp_path / "given.conf").write_text(
        f"[global]\ncert = {tmp_path}/own.pem\nextra-index-url = file:///here https://a/simple\n  https://b/simple\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "given.conf"))
    for name in ("PIP_CERT", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    options = secrets(str(tmp_path))
    assert options[1::2] == [f"id=certificates,src={tmp_path}/own.pem", f"id=pip,src={tmp_path}/pip.conf"]
    lines = (tmp_path / "pip.conf").read_text().splitlines()
    assert "extra-index-url = https://a/simple https://b/simple" in lines
    assert "cert = /run/certificates.pem" in lines
