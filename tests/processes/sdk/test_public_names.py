from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import footplate


def test_importing_the_package_loads_no_module():
    code = "import sys; before = set(sys.modules); import footplate; print(*sorted(set(sys.modules) - before))"
    path = {"PYTHONPATH": str(Path(footplate.__file__).parents[1])}
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, env=path, capture_output=True, text=True, check=True)
    ours = [name for name in done.stdout.split() if name.startswith("footplate")]
    assert ours == ["footplate", "footplate.lazy"]


def test_importing_workspace_experiment_and_run_loads_nothing_slow():
    """These take most of the time: 128 ms of CPU with them, 38 ms without, 11 of which are Python itself."""
    slow = "{'dataclasses', 'inspect', 'socket', 'subprocess', 'tempfile', 'zipfile', 'urllib.parse', 'uuid', 'html'}"
    code = f"import sys; from footplate import Workspace, Experiment, Run; print(sorted({slow} & set(sys.modules)))"
    path = {"PYTHONPATH": str(Path(footplate.__file__).parents[1])}
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, env=path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
