"""`python -m footplate`."""

from __future__ import annotations

import subprocess
import sys


def test_the_package_runs_as_the_command_line() -> None:
    done = subprocess.run([sys.executable, "-m", "footplate", "runs", "lst"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: footplate runs has no command 'lst'\nhint: did you mean list? see: footplate runs --help\n"
    )
