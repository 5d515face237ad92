"""Estimators, submitted as Azure's own notebooks do."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from azureml.core import ComputeTarget, Dataset, Environment, Experiment, ScriptRunConfig, Workspace
from azureml.core.container_registry import ContainerRegistry
from azureml.core.runconfig import MpiConfiguration
from azureml.data.datapath import DataPath
from azureml.exceptions import TrainingException
from azureml.train.dnn import Gloo, PyTorch, TensorFlow
from azureml.train.estimator import Estimator
from azureml.train.sklearn import SKLearn
from footplate.sdk.config.run_data import ConfiguredData
from footplate.sdk.config.script_run_config import to_run_spec
from footplate.sdk.estimators.estimator import script_run_config

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.shared_home]

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


def test_estimator_runs(workspace: Workspace, project: Path):
    run = Experiment(workspace, "estimators").submit(estimator(project), tags={"kind": "old"})
    run.wait_for_completion()
    assert run.get_metrics() == {"arguments": ["--lr", "0.5", "--verbose"], "greeting": "hello"}
    assert (run.type, run.get_tags()["kind"]) == ("azureml.scriptrun", "old")


def test_parameters_of_a_submission_apply_once(workspace: Workspace, project: Path):
    experiment, made = Experiment(workspace, "estimators"), estimator(project)
    first = experiment.submit(made, script_params={"--lr": 0.1})
    second = experiment.submit(made)
    for run, expected in ((first, ["--lr", "0.1"]), (second, ["--lr", "0.5", "--verbose"])):
        run.wait_for_completion()
        assert run.get_metrics()["arguments"] == expected


def test_run_configuration_of_the_estimator_is_submitted(workspace: Workspace, project: Path):
    made = estimator(project)
    assert (made.run_config.script, made.run_config.arguments) == ("train.py", ["--lr", 0.5, "--verbose"])
    made.run_config.arguments += ["--epochs", 3]  # type: ignore[operator]
    made.run_config.environment_variables["GREETING"] = "good morning"
    run = Experiment(workspace, "estimators").submit(made)
    run.wait_for_completion()
    assert run.get_metrics() == {"arguments": ["--lr", "0.5", "--verbose", "--epochs", "3"], "greeting": "good morning"}


def test_edited_or_replaced_environment_is_used(workspace: Workspace, project: Path):
    made = TensorFlow("source", compute_target="local", entry_script="train.py", framework_version="2.2")

    def submitted() -> Environment:
        return script_run_config(workspace, made).run_config.environment

    made.conda_dependencies.add_pip_package("tqdm")
    made.run_config.environment.docker.base_dockerfile = "FROM scratch"
    packages = list(submitted().python.conda_dependencies.pip_packages)
    assert "tqdm" in packages and any(package.startswith("tensorflow") for package in packages)
    assert submitted().docker.base_dockerfile == "FROM scratch"
    made.run_config.environment.python.user_managed_dependencies = True
    assert submitted().python.user_managed_dependencies
    made.run_config.environment = Environment("mine")
    assert submitted().name == "mine"
    assert list(submitted().python.conda_dependencies.pip_packages) == ["azureml-defaults"]


def test_unknown_options_of_a_submission_are_rejected(workspace: Workspace, project: Path):
    with pytest.raises(TrainingException, match="run_id"):
        Experiment(workspace, "estimators").submit(estimator(project), run_id="mine")


def test_machine_size_alone_creates_a_cluster_and_reuses_it(workspace: Workspace, project: Path):
    experiment = Experiment(workspace, "estimators")
    made = estimator(project, compute_target=None, vm_size="Standard_NC6")
    for _ in range(2):
        run = experiment.submit(made)
        run.wait_for_completion()
        assert run.get_details()["target"] == "vm-standard-nc6"
    (cluster,) = ComputeTarget.list(workspace)
    assert (cluster.name, cluster.vm_size) == ("vm-standard-nc6", "Standard_NC6")  # type: ignore[attr-defined]


# ── the ScriptRunConfig that the warning shows ──


def pasted(kind: Any, **parameters: Any) -> tuple[Estimator, ScriptRunConfig]:
    """Return the estimator, and the result of the code in its warning, with the estimator's parameters as variables."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        made = kind("source", **{"compute_target": "local", "entry_script": "train.py", **parameters})
    (text,) = [str(one.message) for one in seen if one.category is DeprecationWarning]
    names = dict(parameters, PASSWORD="secret")
    exec(inspect.cleandoc(text.split("\n\n", 1)[1]), names)
    return made, names["config"]


def check_paste(workspace: Workspace, kind: Any, **parameters: Any) -> None:
    made, config = pasted(kind, **parameters)
    both = [to_run_spec(one, "e", ConfiguredData(workspace)) for one in (script_run_config(workspace, made), config)]
    asked, shown = (replace(spec, inputs=tuple(sorted(spec.inputs, key=lambda one: one.name))) for spec in both)
    assert asked == shown


def registry() -> ContainerRegistry:
    made = ContainerRegistry()
    made.address, made.username, made.password = "registry.example", "me", "secret"
    return made


@pytest.mark.parametrize(
    "kind, parameters",
    [
        (Estimator, {"user_managed": True, "environment_variables": {"A": 1}, "max_run_duration_seconds": 60}),
        (Estimator, {"pip_packages": ["tqdm"], "conda_packages": ["numpy=1.26"], "pip_requirements_file": "reqs.txt"}),
        (Estimator, {"conda_dependencies_file": "env.yml"}),
        (Estimator, {"environment_definition": Environment("own"), "environment_variables": {"A": "b"}}),
        (Estimator, {"custom_docker_image": "me/image", "image_registry_details": registry(), "shm_size": "8g"}),
        (Estimator, {"compute_target": None, "vm_size": "Standard_NC6", "vm_priority": "lowpriority", "use_gpu": True}),
        (Estimator, {"compute_target": "c", "distributed_training": MpiConfiguration(2, 3)}),
        (Estimator, {"script_params": {"--words": ["a", "b"] * 30, "--flag": "", "--on": True, "--rate": 0.5}}),
        (TensorFlow, {"compute_target": "c", "node_count": 2, "worker_count": 3, "distributed_backend": "ps"}),
        (TensorFlow, {"framework_version": "2.2", "use_gpu": True, "conda_packages": ["scikit-learn"]}),
        (PyTorch, {"compute_target": "c", "node_count": 2, "distributed_training": Gloo(), "shm_size": "1g"}),
        (SKLearn, {"pip_requirements_file": "reqs.txt", "environment_variables": {"A": "b"}}),
    ],
)
def test_code_in_the_warning_requests_the_same(
    workspace: Workspace, project: Path, kind: Any, parameters: dict[str, Any]
):
    (project / "source").mkdir()
    (project / "source" / "train.py").touch()
    (project / "source" / "reqs.txt").write_text("--extra-index-url https://example.com/simple\nrich\n")
    (project / "source" / "env.yml").write_text("dependencies:\n- python=3.11\n- pip:\n  - tqdm\n")
    check_paste(workspace, kind, **parameters)


def test_code_in_the_warning_names_the_same_data(workspace: Workspace, project: Path):
    (project / "source").mkdir()
    (project / "source" / "train.py").touch()
    store = workspace.get_default_datastore()
    store.upload_files([str(project / "source" / "train.py")], target_path="data", show_progress=False)
    unnamed = Dataset.File.from_files((store, "data/*.py"))
    named = unnamed.register(workspace, "digits")
    check_paste(
        workspace,
        Estimator,
        user_managed=True,
        script_params={
            "--all": store,
            "--some": store.path("data").as_download("here", overwrite=True),
            "--named": named.as_named_input("digits").as_mount(),
            "--unnamed": unnamed.as_named_input("unnamed").as_download("there"),
            "--latest": "",
        },
        inputs=[named.as_named_input("again").as_download(), store.path("data").as_mount(), store],
        resume_from=DataPath(store, "data"),
        source_directory_data_store=store,
    )
