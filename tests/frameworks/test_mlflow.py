"""MLflow beside real frameworks: autologging, and models in the default format of its releases."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from footplate import Run

pytestmark = pytest.mark.shared_home

ROOT = Path(__file__).parents[2]


# framework → a parameter that autologging adds, and packages
FRAMEWORKS = {
    "sklearn": ("C", ["azureml-mlflow", "pandas", "scikit-learn"]),
    "xgboost": ("num_boost_round", ["azureml-mlflow", "pandas", "xgboost-cpu", "scikit-learn"]),
    "keras": ("epochs", ["azureml-mlflow", "pandas", "tensorflow-cpu==2.21.0", "tensorboard"]),
    "lightning": ("lr", ["azureml-mlflow", "pandas", "lightning", "torch==2.13.0", "numpy"]),
}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_autologging_and_later_calls_log_to_the_run(train: Callable[..., Run], framework: str) -> None:
    parameter, packages = FRAMEWORKS[framework]
    run = train(f"mlflow_{framework}.py", packages)
    view = run.experiment.workspace.session.api.runs.get(run.id)
    assert run.get_metrics()["by hand"] == 5 and len(run.get_metrics()) > 1
    assert parameter in view.parameters and not list(run.get_children())
    if framework == "sklearn":
        assert "model/model.skops" in run.get_file_names()


@pytest.mark.parametrize("framework", ["tensorflow-cpu==2.15.*", "tensorflow-cpu==2.21.*", "tensorboard==2.10.*"])
def test_the_tensorboard_extra_fits_beside_other_releases(framework: str, tmp_path: Path) -> None:
    wanted = tmp_path / "requirements.txt"
    wanted.write_text(f"{framework}\nfootplate[tensorboard] @ {ROOT.as_uri()}\n")
    command = [sys.executable, "-m", "uv", "pip", "compile", "-q", "--python-version", "3.10", str(wanted)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "tensorboard==" in done.stdout
