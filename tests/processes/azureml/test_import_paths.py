"""Every import path of Azure's SDK leads to Footplate's own object."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ...unit.azureml.test_import_paths import PATHS


@pytest.mark.parametrize(
    "module",
    [
        *(m for m in PATHS if m.startswith(("azureml.core.", "azureml.data", "azureml.exceptions"))),
        "azureml._common",
        "azureml._restclient",
    ],
)
def test_importing_the_package_makes_its_modules_available(module: str):
    code = f"import azureml.core; print({module}.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"{module}\n", "")


def test_data_has_the_same_version():
    code = "import azureml.core; print(azureml.data.__version__ == azureml.core.VERSION)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_importing_run_loads_no_server_package():
    code = "import sys; from azureml.core import Run; print(*sorted(m.split('.')[0] for m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"sqlalchemy", "fastapi", "pydantic", "uvicorn", "click", "rich", "psutil"} & set(done.stdout.split())


def test_importing_workspace_loads_urllib_request_but_run_does_not():
    """One of the five documents uses it after `import urllib` alone."""
    code = "import sys, urllib; from azureml.core import {}; print('urllib.request' in sys.modules)"
    for name, expected in (("Workspace", "True"), ("Run", "False")):
        done = subprocess.run([sys.executable, "-c", code.format(name)], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == expected, name
