"""Images from a real registry on this machine that requires a password."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from footplate import Environment, Experiment, ScriptRunConfig
from footplate.sdk.run import Run
from footplate.sdk.workspace import Workspace
from support import registries
from support.registries import PASSWORD, USERNAME, Registry

pytestmark = [pytest.mark.slow, pytest.mark.root]


@pytest.fixture
def registry(python_image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    reason = registries.why_not()
    if reason is not None:
        pytest.skip(reason)
    with registries.registry(tmp_path / "registry") as made:
        for name, value in made.variables.items():
            monkeypatch.setenv(name, value)
        made.push(python_image, "team/python:1")
        yield made


def submit(workspace: Workspace, environment: Environment) -> Run:
    Path("train.py").write_text("import os; print(os.environ['FROM_IMAGE'])")
    run = Experiment(workspace, "boxed").submit(ScriptRunConfig(".", "train.py", environment=environment))
    run.wait_for_completion(raise_on_error=False)
    return run


def test_image_is_pulled_by_digest_with_a_hidden_password(registry: Registry, home: Path, workspace: Workspace) -> None:
    login = {"address": registry.address, "username": USERNAME, "password": "wrong"}
    refused = submit(workspace, Environment.from_docker_image("boxed", "team/python:1", login))
    assert refused.get_status() == "Failed"
    error = str(refused.get_details()["error"])
    assert "cannot be pulled" in error and "docker.base_image_registry" in error

    made = Environment.from_docker_image("boxed", "team/python:1", {**login, "password": PASSWORD})
    run = submit(workspace, made)
    assert run.get_status() == "Completed", run.get_details().get("error")
    base = workspace.session.api.locks.of_run(run.id).content["base"]
    assert base["pulled"].startswith(f"{registry.address}/team/python@sha256:")
    assert PASSWORD not in json.dumps([run.get_details(), base])
    hidden = (PASSWORD.encode(), base64.b64encode(f"{USERNAME}:{PASSWORD}".encode()))
    for path in home.rglob("*"):
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            assert not any(secret in content for secret in hidden), f"{path} has the password"

    kept = made.register(workspace)
    assert kept.docker.base_image_registry.password is None
    assert submit(workspace, kept).get_status() == "Completed"  # the server has the password
    assert made.get_image_details(workspace).image_exist
