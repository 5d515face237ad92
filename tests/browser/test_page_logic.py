"""The tests of the page's own logic, which need no browser."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from build_page import UI, find_npm


def test_the_logic_of_the_page_passes_its_tests() -> None:
    if not (UI / "node_modules").is_dir():
        pytest.skip("the page was not built here: make page")
    npm = find_npm()
    variables = {**os.environ, "PATH": f"{Path(npm[0]).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [*npm, "run", "test"], cwd=UI, env=variables, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
