"""The reduced form of `make torture-services`: fuzzed requests, slow clients, killed workers, an update."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from footplate import environ

SCRIPT = Path(__file__).parents[2] / "scripts" / "torture_services.py"


def test_a_tormented_service_fails_no_request(home: Path) -> None:
    command = [sys.executable, str(SCRIPT), "--bodies", "500", "--slow", "20", "--kills", "5"]
    variables = {**os.environ, environ.HOME: str(home)}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 workers were killed" in done.stdout and "0 problems" in done.stdout
