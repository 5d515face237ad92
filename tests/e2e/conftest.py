"""Fixtures of the tests with real servers, agents and scripts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from azureml.core import Model, Webservice, Workspace
from azureml.core.conda_dependencies import CondaDependencies
from footplate import Environment
from support.wheels import make_wheel

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def here() -> Environment:
    """Return the interpreter of the tests, unchanged."""
    environment = Environment("here")
    environment.python.user_managed_dependencies = True
    environment.python.interpreter_path = sys.executable
    return environment


@pytest.fixture
def built(tmp_path: Path) -> Environment:
    """Return an environment that nodes build without an index."""
    for name in ("needed", "pip", "setuptools", "wheel"):
        make_wheel(tmp_path / "wheels", name, "99.5")
    environment = Environment("built")
    environment.python.conda_dependencies = CondaDependencies.create(pip_packages=["needed"], python_version=VERSION)
    for option in ("--no-index", f"--find-links {tmp_path}/wheels"):
        environment.python.conda_dependencies.set_pip_option(option)
    return environment


@pytest.fixture
def ws(workspace: Workspace) -> Iterator[Workspace]:
    """Provide a workspace whose services are deleted at the end."""
    yield workspace
    for service in Webservice.list(workspace):
        service.delete()


@pytest.fixture
def model(ws: Workspace, tmp_path: Path) -> Model:
    """Return a model for scripts that do not read it."""
    (tmp_path / "model.txt").write_text("m")
    return Model.register(ws, str(tmp_path / "model.txt"), "model")
