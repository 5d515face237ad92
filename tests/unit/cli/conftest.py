"""The command line as people use it: a process of its own, in a folder, with a real server behind it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


class Terminal:
    """A shell in a folder. Commands get the home of the test and no terminal, as in a pipe."""

    ENTRY = (sys.executable, "-c", "from footplate.cli.main import main; main()")

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *arguments: str, code: int | None = 0, **variables: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*self.ENTRY, *arguments],
            cwd=self.folder,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=90,
        )
        if code is not None:
            assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--json").stdout)

    def open(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self.ENTRY, *arguments], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def write(self, name: str, *lines: str) -> Path:
        path = self.folder / name
        path.write_text("\n".join(lines) + "\n")
        return path


@pytest.fixture
def bare(home: Path, tmp_path: Path) -> Terminal:
    """In a folder that belongs to no workspace."""
    folder = tmp_path / "bare"
    folder.mkdir()
    return Terminal(folder)


@pytest.fixture
def footplate(home: Path, project: Path) -> Terminal:
    """In a folder that belongs to the workspace `testing`."""
    return Terminal(project)
