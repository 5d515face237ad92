"""Imports that scripts, jobs and agents wait for load few modules: counts, because times depend on the machine."""

from __future__ import annotations

import subprocess
import sys

import pytest

COUNTS = {
    "import footplate": 2,
    "from azureml.core import Run": 15,
    "from azureml.core import Workspace, Experiment, Run; Workspace, Experiment, Run": 38,
    "from footplate.node import agent": 38,  # its phases share a module; the others are loaded while the node joins
}
"""Statement → modules of Footplate that it loads. Raise a count only with a reason, such as a measurement."""


@pytest.mark.parametrize("statement", COUNTS)
def test_an_import_loads_at_most_fifteen_percent_more_modules(statement: str) -> None:
    code = f"import sys\n{statement}\nprint(sum(name.split('.')[0] == 'footplate' for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) <= COUNTS[statement] * 1.15
