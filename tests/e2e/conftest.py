"""Shared fixtures. They also put `ops_tools` on the path, which pytest's importlib mode does not do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from footplate import Environment

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def here() -> Environment:
    """Return the interpreter of the tests, unchanged."""
    environment = Environment("here")
    environment.python.user_managed_dependencies = True
    environment.python.interpreter_path = sys.executable
    return environment
