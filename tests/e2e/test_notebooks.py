"""Notebooks as runs: executed by nbclient in the run's environment, with their output in the log and in ./outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from azureml.contrib.notebook import NotebookRunConfig
from azureml.core import Environment, Experiment, RunConfiguration, ScriptRunConfig, Workspace
from azureml.core.conda_dependencies import CondaDependencies
from azureml.exceptions import ActivityFailedException, UserErrorException
from azureml.train.estimator import Estimator

pytestmark = [pytest.mark.timeout(300), pytest.mark.shared_home]


def write_notebook(path: Path, *cells: str, parameters: str = "") -> None:
    """Write a notebook as Azure's portal saves it; `parameters` is the source of a tagged cell."""
    sources = [(parameters, ["parameters"])] * bool(parameters) + [(source, []) for source in cells]
    document = {
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": "# Title"},
            *(
                {"cell_type": "code", "execution_count": None, "metadata": {"tags": tags}, "outputs": [],
                 "source": source}
                for source, tags in sources
            ),
        ],
        "metadata": {"kernelspec": {"name": "python38-azureml", "display_name": "Python 3.8", "language": "python"}},
        "nbformat": 4,
        "nbformat_minor": 4,
    }  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))


@pytest.fixture
def environment(shared_environments: Path) -> Environment:
    """Return an environment without packages of its own; the packages that run notebooks are added on submission."""
    made = Environment("notebooks")
    made.python.conda_dependencies = CondaDependencies.create(python_version="3.11", pip_packages=["azureml-defaults"])
    return made


def std_log(run: Any) -> str:
    return run.get_details_with_logs()["logFiles"]["user_logs/std_log.txt"]


def test_notebook_runs_with_parameters_and_is_saved(workspace: Workspace, environment: Environment) -> None:
    write_notebook(
        Path("src/deep/train.ipynb"),
        "import helper\nfrom azureml.core import Run\nrun = Run.get_context()",
        "for step in range(epochs):\n    run.log('loss', rate / (step + 1))",
        "print(helper.NAME, name)\nopen('outputs/model.txt', 'w').write(name)",
        parameters="epochs, rate, name = 1, 1.0, 'none'",
    )
    Path("src/deep/helper.py").write_text("NAME = 'helps'\n")
    run_config = RunConfiguration()
    run_config.environment = environment
    config = NotebookRunConfig(
        source_directory="src",
        notebook="deep/train.ipynb",
        output_notebook="outputs/out.ipynb",
        parameters={"epochs": 3, "rate": 0.6, "name": "7"},
        run_config=run_config,
    )
    run = Experiment(workspace, "notebooks").submit(config)
    run.wait_for_completion(show_output=True)
    assert run.get_metrics()["loss"] == pytest.approx([0.6, 0.3, 0.2])
    assert "[2/5] # Parameters\n" in std_log(run)
    assert "[5/5] print(helper.NAME, name)\nhelps 7\n" in std_log(run)
    run.download_file("outputs/out.ipynb", "out.ipynb")
    cells = json.loads(Path("out.ipynb").read_text())["cells"]
    assert [cell.get("execution_count") for cell in cells] == [None, 1, 2, 3, 4, 5]
    assert cells[-1]["outputs"][0]["text"] in ("helps 7\n", ["helps 7\n"])
    run.download_file("outputs/model.txt", "model.txt")
    assert Path("model.txt").read_text() == "7"


def test_failing_cell_of_an_estimators_notebook_is_named(workspace: Workspace, environment: Environment) -> None:
    write_notebook(Path("src/fails.ipynb"), "print('fine')", "total = 0\n1 / total", "print('never')")
    estimator = Estimator("src", entry_script="fails.ipynb", compute_target="local", environment_definition=environment)
    run = Experiment(workspace, "notebooks").submit(estimator)
    with pytest.raises(ActivityFailedException, match=r"ZeroDivisionError: division by zero \(cell 2 of 3\)"):
        run.wait_for_completion()
    assert "fine\n" in std_log(run) and "----> 2 1 / total" in std_log(run) and "never" not in std_log(run)
    assert "notebook_runner" not in std_log(run) and std_log(run).startswith("[1/3] print('fine')\n")
    run.download_file("outputs/fails.ipynb", "out.ipynb")
    assert json.loads(Path("out.ipynb").read_text())["cells"][2]["outputs"][0]["ename"] == "ZeroDivisionError"


def test_interpreter_without_nbclient_is_named(workspace: Workspace, here: Environment) -> None:
    write_notebook(Path("src/any.ipynb"), "print('never')")
    run = Experiment(workspace, "notebooks").submit(ScriptRunConfig("src", "any.ipynb", environment=here))
    with pytest.raises(ActivityFailedException, match="add nbclient and ipykernel"):
        run.wait_for_completion()
    with pytest.raises(UserErrorException, match=r"'train\.py'"):
        NotebookRunConfig("src", "train.py")
