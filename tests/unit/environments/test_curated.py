"""The catalogue, and what stands in where an old environment cannot be installed any more."""

from __future__ import annotations

import pytest

from footplate.environments import curated
from footplate.environments.requirements import name_of
from footplate.errors import NotFound


def test_the_catalogue_has_no_name_twice_and_every_stand_in_is_tested() -> None:
    entries = curated.every()
    names = [entry.name.lower() for entry in entries]
    assert len(set(names)) == len(names)
    tested = {entry.name for entry in entries if entry.nearest is None}
    assert {entry.nearest for entry in entries} - {None} <= tested
    assert all(curated.is_reserved(entry.name) for entry in entries)


def test_what_is_tested_is_pinned() -> None:
    for entry in curated.every():
        if entry in curated.tested.ALL:
            assert all("==" in line for line in entry.requirements), entry.name


@pytest.mark.parametrize("family", ["Minimal", "Sklearn", "PyTorch", "TensorFlow", "ONNX", "Horovod"])
def test_every_family_is_there(family: str) -> None:
    assert any(family in entry.name for entry in curated.tested.ALL)


@pytest.mark.parametrize(
    ("name", "wanted", "nearest"),
    [
        ("AzureML-Minimal", None, "Footplate-Minimal"),
        ("AzureML-Tutorial", "scikit-learn", "Footplate-Sklearn"),
        ("AzureML-sklearn-1.5", "scikit-learn~=1.5.0", "Footplate-Sklearn"),
        ("azureml-sklearn-1.5", "scikit-learn~=1.5.0", "Footplate-Sklearn"),
        ("AzureML-TensorFlow-2.2-GPU", "tensorflow-gpu==2.2.0", "Footplate-TensorFlow-2.21-GPU"),
        ("AzureML-TensorFlow-1.13-GPU", "tensorflow-gpu==1.13.1", "Footplate-TensorFlow-2.21-GPU"),
        ("AzureML-TensorFlow-2.3-GPU", "tensorflow-gpu==2.3.0", "Footplate-TensorFlow-2.21-GPU"),
        ("AzureML-tensorflow-2.16-cuda12", "tensorflow[and-cuda]==2.16.2", "Footplate-TensorFlow-2.21-GPU"),
        ("azureml-tensorflow-2.11-cuda11", "tensorflow~=2.11.1", "Footplate-TensorFlow-2.21-GPU"),
        ("AzureML-PyTorch-1.6-GPU", "torch==1.6.0", "Footplate-PyTorch-2.13-GPU"),
        ("AzureML-PyTorch-1.6-CPU", "torch==1.6.0", "Footplate-PyTorch-2.13-CPU"),
        ("AzureML-PyTorch-1.4-GPU", "torch==1.4.0", "Footplate-PyTorch-2.13-GPU"),
        ("azureml-acpt-pytorch-2.2-cuda12.1", "torch==2.2.2", "Footplate-PyTorch-2.13-GPU"),
        ("azureml-acpt-pytorch-1.11-cuda11.3", "torch==1.11.0", "Footplate-PyTorch-2.13-GPU"),
        ("AzureML-Scikit-learn0.24-Cuda11-OpenMpi4.1.0-py36", "scikit-learn==0.24.1", "Footplate-Sklearn"),
        ("AzureML-acpt-pytorch-1.13-cuda11.7", "torchvision==0.14.1", "Footplate-PyTorch-2.13-GPU"),
        # Not in the list, and understood:
        ("AzureML-pytorch-1.12-ubuntu18.04-py37-cuda11-gpu", "torch==1.12.*", "Footplate-PyTorch-2.13-GPU"),
        ("AzureML-tensorflow-2.5-ubuntu20.04-py38-cuda11-gpu", "tensorflow==2.5.*", "Footplate-TensorFlow-2.21-GPU"),
        ("AzureML-onnxruntime-1.6-ubuntu18.04-py37-cpu-inference", "onnxruntime==1.6.*", "Footplate-ONNX"),
    ],
)
def test_azure_s_names(name: str, wanted: str | None, nearest: str) -> None:
    entry = curated.get(name)
    assert entry.nearest is not None and entry.nearest.startswith(nearest)
    assert wanted is None or wanted in entry.requirements


def test_python_is_read_from_a_name() -> None:
    assert curated.get("AzureML-pytorch-1.12-ubuntu18.04-py37-cuda11-gpu").python == "3.7"


def test_a_name_without_python_means_one_with_wheels_for_old_frameworks() -> None:
    assert curated.get("AzureML-acpt-pytorch-2.4-cuda12.4").python == "3.10"


@pytest.mark.parametrize("name", ["AzureML-acpt-pytorch-1.13-cuda11.7", "AzureML-ACPT-pytorch-1.13-py38-cuda11.7-gpu"])
def test_horovod_comes_with_runs_over_mpi(name: str) -> None:
    assert curated.get(name).with_mpi == ("horovod==0.28.1",)


def test_a_name_that_says_nothing_is_not_found_and_near_ones_are_named() -> None:
    with pytest.raises(NotFound) as caught:
        curated.get("AzureML-Minimum")
    assert "did you mean AzureML-Minimal" in str(caught.value.hint)
    with pytest.raises(NotFound):
        curated.get("Footplate-PyTorch-9")


def test_substitutes_have_the_same_framework() -> None:
    families = {
        "torch": "PyTorch",
        "tensorflow": "TensorFlow",
        "tensorflow-gpu": "TensorFlow",
        "scikit-learn": "Sklearn",
    }
    for entry in curated.every():
        named = {families[name] for line in entry.requirements if (name := str(name_of(line))) in families}
        if entry.nearest is not None and len(named) == 1:
            assert named.pop() in entry.nearest, entry.name
