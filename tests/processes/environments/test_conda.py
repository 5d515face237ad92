from __future__ import annotations

import sys
from pathlib import Path

import pytest

from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import ResolverSettings
from footplate.environments.conda import CondaBuilder
from footplate.errors import InvalidInput
from support.wheels import make_wheel

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def lock(tmp_path: Path, dependencies: list[str], pip: tuple[str, ...] = (), **rest: str) -> tuple[Lock, list[str]]:
    options = {"conda": {"channels": ["conda-forge"], "dependencies": dependencies, "pip": list(pip)}}
    said = list[str]()
    spec = EnvironmentSpec(builder="conda", options=options, **rest)  # pyright: ignore[reportArgumentType]
    return CondaBuilder().lock(spec, ResolverSettings(tmp_path / "e"), said.append), said


def test_a_warning_and_the_log_list_mapped_packages(wheels: Path, tmp_path: Path) -> None:
    make_wheel(wheels, "torch", "1.6.0")
    made, said = lock(
        tmp_path, [f"python={PYTHON}", "tiny=1.0=py_0", "pytorch=1.6", "cpuonly"], pip=("azureml-defaults",)
    )
    assert [line.split()[0] for line in made.content["requirements"].splitlines()[::2]] == ["tiny==1.0", "torch==1.6.0"]
    assert made.content["python"] == PYTHON
    assert made.warnings[0].startswith(
        "conda packages are installed from PyPI: tiny=1.0=py_0 → tiny==1.0.*, pytorch=1.6 → torch==1.6.*"
    )
    assert any("'py_0'" in warning for warning in made.warnings)
    assert any("cpuonly is left out" in warning for warning in made.warnings)
    assert set(made.warnings[1:]) <= set(said)


def test_pip_s_section_is_resolved_together_with_the_rest(wheels: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="these lines conflict"):
        lock(tmp_path, ["tiny=1.0"], pip=("tiny>=2",))


def test_azureml_in_the_conda_section_is_not_installed(wheels: Path, tmp_path: Path) -> None:
    made, said = lock(tmp_path, ["azureml-sdk=1.1", "tiny"])
    assert "azureml" not in made.content["requirements"]
    assert any("not installed, Footplate provides" in line for line in said)


def test_a_python_range_takes_the_newest_installed_version(wheels: Path, tmp_path: Path) -> None:
    made, _ = lock(tmp_path, [f"python>=3.8,<={PYTHON}.99", "tiny"])
    assert made.content["python"] == PYTHON
    with pytest.raises(InvalidInput, match=r"no Python on this machine matches >=3\.97"):
        lock(tmp_path, ["python>=3.97", "tiny"])


def test_a_python_range_that_is_too_old_gets_the_nearest(wheels: Path, tmp_path: Path) -> None:
    made, _ = lock(tmp_path, ["python>=3.6,<3.8", "tiny"])
    assert any(w.startswith("Python 3.7 cannot run jobs, which need at least 3.8") for w in made.warnings)


def test_the_specs_python_applies_if_the_file_names_none(wheels: Path, tmp_path: Path) -> None:
    assert lock(tmp_path, ["tiny"], python=PYTHON)[0].content["python"] == PYTHON
