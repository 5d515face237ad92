"""Running what the documentation shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
Runner = Callable[[Path], list[str]]

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# ([\w.-]+\.py)\n")


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """That of somebody who has just installed Footplate and activated its environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "FOOTPLATE_HOME": str(home)}


@pytest.fixture
def run_page(environment: dict[str, str], tmp_path: Path) -> Runner:
    """Do what a page says: python blocks whose first line names a file are written, bash blocks are run, in order."""
    folder = tmp_path / "my-project"
    folder.mkdir()

    def run(page: Path) -> list[str]:
        outputs: list[str] = []
        for language, body in _BLOCK.findall(page.read_text(encoding="utf-8")):
            named = _FILE.match(body)
            if language == "python" and named:
                (folder / named[1]).write_text(body, encoding="utf-8")
            elif language == "bash":
                done = subprocess.run(
                    ["bash", "-eu", "-c", body],
                    cwd=folder,
                    env=environment,
                    capture_output=True,
                    text=True,
                    timeout=120,
                )
                assert done.returncode == 0, f"{body}\n{done.stdout}\n{done.stderr}"
                outputs.append(done.stdout)
        assert outputs, f"{page} runs nothing"
        return outputs

    return run
