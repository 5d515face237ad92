from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from footplate.sdk import context

from ...unit.sdk.test_context import inside, logged

__all__ = ["inside"]  # fixtures


def test_a_script_that_only_logs_loads_few_modules(inside: str):
    """`-S`: modules that the environment's own start-up loads do not count."""
    code = (
        "import sys; from azureml.core import Run; Run.get_context().log('m', 1.0);"
        "slow = {'json', 'threading', 'typing', 'weakref', 'footplate.sdk.session', 'footplate.sdk.runs.metrics'};"
        "print(slow & {*sys.modules})"
    )
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-S", "-c", code], env=variables, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_script_that_only_logs_loads_neither_sockets_nor_dataclasses(inside: str, tmp_path: Path):
    code = (
        "import sys; from azureml.core import Run; Run.get_context().log('m', 1.0); "
        "print({'socket', 'dataclasses', 'subprocess', 'tempfile', 'zipfile', 'urllib.parse'} & set(sys.modules))"
    )
    source = Path(context.__file__).parents[2]
    path = f"{source}:{source.parent / 'packages' / 'azureml' / 'src'}"
    done = subprocess.run([sys.executable, "-S", "-c", code], env={**os.environ, "PYTHONPATH": path},
                          capture_output=True, text=True)  # fmt: skip
    assert (done.stdout.strip(), done.stderr) == ("set()", "")
    assert logged(tmp_path / inside) == [("m", 1.0, None)]
