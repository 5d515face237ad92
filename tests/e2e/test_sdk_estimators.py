"""Estimators, submitted as Azure's own notebooks do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from azureml.core import ComputeTarget, Experiment, Workspace
from azureml.exceptions import TrainingException
from azureml.train.estimator import Estimator

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

SCRIPT = """
import os, sys
from azureml.core import Run
run = Run.get_context()
run.log_list("arguments", sys.argv[1:])
run.log("greeting", os.environ["GREETING"])
"""


def estimator(folder: Path, **parameters: Any) -> Estimator:
    (folder / "source").mkdir(exist_ok=True)
    (folder / "source" / "train.py").write_text(SCRIPT)
    parameters.setdefault("compute_target", "local")
    return Estimator(
        str(folder / "source"),
        entry_script="train.py",
        script_params={"--lr": 0.5, "--verbose": ""},
        environment_variables={"GREETING": "hello"},
        user_managed=True,
        **parameters,
    )


def test_an_estimator_runs(workspace: Workspace, project: Path):
    run = Experiment(workspace, "estimators").submit(estimator(project), tags={"kind": "old"})
    run.wait_for_completion()
    assert run.get_metrics() == {"arguments": ["--lr", "0.5", "--verbose"], "greeting": "hello"}
    assert (run.type, run.get_tags()["kind"]) == ("azureml.scriptrun", "old")


def test_parameters_given_at_submission_count_this_one_time(workspace: Workspace, project: Path):
    experiment, made = Experiment(workspace, "estimators"), estimator(project)
    first = experiment.submit(made, script_params={"--lr": 0.1})
    second = experiment.submit(made)
    for run, expected in ((first, ["--lr", "0.1"]), (second, ["--lr", "0.5", "--verbose"])):
        run.wait_for_completion()
        assert run.get_metrics()["arguments"] == expected


def test_other_options_of_a_submission_are_refused(workspace: Workspace, project: Path):
    with pytest.raises(TrainingException, match="run_id"):
        Experiment(workspace, "estimators").submit(estimator(project), run_id="mine")


def test_a_machine_size_alone_makes_its_cluster_and_uses_it_again(workspace: Workspace, project: Path):
    experiment = Experiment(workspace, "estimators")
    made = estimator(project, compute_target=None, vm_size="Standard_NC6")
    for _ in range(2):
        run = experiment.submit(made)
        run.wait_for_completion()
        assert run.get_details()["target"] == "vm-standard-nc6"
    (cluster,) = ComputeTarget.list(workspace)
    assert (cluster.name, cluster.vm_size) == ("vm-standard-nc6", "Standard_NC6")
