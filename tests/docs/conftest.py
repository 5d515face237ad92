"""Fixtures that run the documentation."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

RUNNER = Path(__file__).parent / "page_runner.py"
END_OF_BLOCK = "\x1e\n"
Runner = Callable[[Path], list[str]]


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """Return the environment of a user who has just installed Footplate and activated its environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "FOOTPLATE_HOME": str(home)}


@pytest.fixture
def run_page(environment: dict[str, str], tmp_path: Path) -> Runner:
    """Run the blocks of a page in a new project folder and return the output of each block."""
    folder = tmp_path / "my-project"
    folder.mkdir()

    def run(page: Path) -> list[str]:
        done = subprocess.run(
            [sys.executable, str(RUNNER), str(page)],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout.split(END_OF_BLOCK)[:-1]

    return run
