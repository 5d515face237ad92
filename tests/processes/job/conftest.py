from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ...unit.job.conftest import points

__all__ = ["points", "python"]

SOURCE = str(Path(__file__).parents[3] / "src")


@pytest.fixture
def python(tmp_path):
    """Run code in a new process, in the test's folder."""

    def run(code: str, interpreter: str = sys.executable, **options) -> subprocess.CompletedProcess[str]:
        variables = {**os.environ, "PYTHONPATH": SOURCE, **options.pop("env", {})}
        command = [interpreter, "-c", textwrap.dedent(code)]
        return subprocess.run(
            command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=120, **options
        )

    return run
