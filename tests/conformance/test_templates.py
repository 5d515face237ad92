"""The templates for engines and stores pass their suites where a reader runs them: in a copy, outside this checkout."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TEMPLATES = Path(__file__).parents[2] / "examples" / "templates"


@pytest.mark.parametrize("name", sorted(folder.name for folder in TEMPLATES.iterdir()))
def test_templates_pass_their_suites(home: Path, tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(TEMPLATES / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "files")]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
