"""Shared fixtures. They also put `ops_tools` on the path, which pytest's importlib mode does not do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from azureml.core import Model, Webservice, Workspace
from footplate import Environment

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def here() -> Environment:
    """Return the interpreter of the tests, unchanged."""
    environment = Environment("here")
    environment.python.user_managed_dependencies = True
    environment.python.interpreter_path = sys.executable
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
