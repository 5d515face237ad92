"""The Russian article about PyTorch of 2020.

Given: the scripts of `scripts/pytorch-2020`, nothing else.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from reading import Document, supply

from azureml.core import Experiment, Run, ScriptRunConfig
from azureml.core.runconfig import PyTorchConfiguration
from azureml.exceptions import ActivityFailedException

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.filterwarnings("ignore::DeprecationWarning")]
RUSSIAN = "001-pytorch-2020-11"
SCRIPTS = "pytorch-2020"


def prepare(document: Document) -> None:
    """Run blocks 1 to 4: a folder with the script, and a cluster."""
    supply(".", f"{SCRIPTS}/pytorch_train.py")
    document.run(1, 2, 3, 4)


def define_curated(document: Document) -> None:
    """Run blocks 5 to 8, and train with each environment that they define."""
    document.run(5, 6)
    shutil.copy("AzureML-PyTorch-1.6-GPU/conda_dependencies.yml", ".")
    document.run(7)
    train(document)
    document.run(5, 8)
    train(document)


def define_own(document: Document) -> None:
    """Run blocks 9 and 10: Python 3.6, torch 1.6 and torchvision 0.7."""
    document.run(9, 10)
    packages = list(document.names["pytorch_env"].python.conda_dependencies.pip_packages)
    assert packages == ["azureml-defaults", "torch==1.6.0", "torchvision==0.7.0", "future==0.17.1", "pillow"]


def train(document: Document) -> None:
    """Run blocks 11 and 12: thirty epochs, after which the model knows birds that it has not seen."""
    document.run(11, 12)
    metrics = document.names["run"].get_metrics()
    assert metrics["torch"].startswith("1.6.0") and metrics["classes"] == ["chickens", "turkeys"]
    assert len(metrics["loss"]) == 30 and metrics["loss"][-1] < metrics["loss"][0] / 2
    assert metrics["best_val_acc"][-1] > 0.9


def keep(document: Document) -> None:
    """Run blocks 13 and 14: the registered model, and a copy of it, which knows the birds as well."""
    document.run(13, 14)
    names = document.names
    assert names["model"].version == 1 and names["model"].run_id == names["run"].id
    supply("ask", f"{SCRIPTS}/ask.py", f"{SCRIPTS}/pytorch_train.py")
    shutil.copytree("model", "ask/model")
    source = ScriptRunConfig("ask", "ask.py", compute_target=names["compute_target"], environment=names["pytorch_env"])
    run: Run = Experiment(names["ws"], "ask").submit(source)
    run.wait_for_completion()
    assert run.get_metrics()["accuracy"] == names["run"].get_metrics()["best_val_acc"][-1]


def check_digits(metrics: dict[str, Any]) -> None:
    """Both processes have one model, which recognizes most digits that it has not seen."""
    assert (metrics["processes"], metrics["difference"]) == (2, 0.0)
    assert len(metrics["loss"]) == 4 and metrics["loss"][-1] < metrics["loss"][0] / 2
    assert metrics["accuracy"][-1] > 0.9


def train_with_horovod(document: Document) -> None:
    """Run blocks 15 and 16: one model in two processes over MPI."""
    document.run(15, 10)
    supply("pytorch-birds", *(f"{SCRIPTS}/{name}.py" for name in ("pytorch_horovod_mnist", "mnist", "net")))
    document.run(16)
    run = document.submit("horovod")
    check_digits(run.get_metrics())
    assert any("horovod 0.28.1 is built instead" in one["message"] for one in run.get_details()["warnings"])


def train_in_a_group(document: Document) -> None:
    """Run block 17: NCCL needs a GPU, and the error names Gloo, as the article does; over Gloo, the digits are learned.

    A change to Gloo is made in the arguments and in PyTorchConfiguration.
    """
    supply("pytorch-birds", *(f"{SCRIPTS}/{name}.py" for name in ("pytorch_mnist", "mnist", "net")))
    document.run(17)
    if not shutil.which("nvidia-smi"):
        with pytest.raises(ActivityFailedException, match="Gloo"):
            document.submit("nccl")
    names = document.names
    arguments = ["gloo" if word == "nccl" else word for word in names["args"]]
    source = ScriptRunConfig(
        source_directory=names["project_folder"],
        script="pytorch_mnist.py",
        arguments=arguments,
        compute_target=names["compute_target"],
        environment=names["pytorch_env"],
        distributed_job_config=PyTorchConfiguration(communication_backend="Gloo", node_count=2),
    )
    check_digits(document.submit("gloo", source).get_metrics())


@pytest.mark.documents
def test_article_about_pytorch_as_a_reader_runs_it(
    project: Path, shared_environments: Path, web: list[str], subtests: pytest.Subtests
) -> None:
    document = Document(RUSSIAN, subtests)
    prepare(document)
    define_curated(document)
    define_own(document)
    train(document)
    keep(document)
    own = document.names["pytorch_env"]
    train_with_horovod(document)
    document.given(pytorch_env=own)
    train_in_a_group(document)
    document.assert_complete()


def test_own_environment_trains_in_a_group(
    project: Path, shared_environments: Path, web: list[str], subtests: pytest.Subtests
) -> None:
    document = Document(RUSSIAN, subtests)
    prepare(document)
    define_own(document)
    train_in_a_group(document)
