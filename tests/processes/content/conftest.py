from __future__ import annotations

import os
import resource
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SOURCE = str(Path(__file__).parents[3] / "src")


@pytest.fixture
def with_little_space(tmp_path):
    """Run code in a process whose files cannot grow beyond 4 KB, which resembles a full disk without root."""

    def run(code: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": SOURCE},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
