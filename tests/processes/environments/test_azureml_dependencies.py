"""Packages that Azure's packages brought along, as soft requirements."""

from __future__ import annotations

from pathlib import Path

import pytest

from footplate.domain.locks import packages
from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import ResolverSettings
from footplate.environments.venv import VenvBuilder
from support.wheels import make_wheel

# ── Soft requirements ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def numpys(wheels: Path) -> Path:
    for name, version in (("numpy", "1.23"), ("numpy", "2.2"), ("pyarrow", "11.0"), ("pyarrow", "23.0")):
        make_wheel(wheels, name, version)
    return wheels


def lock_of(root: Path, *requirements: str) -> Lock:
    spec = EnvironmentSpec(builder="venv", requirements=requirements)
    return VenvBuilder().lock(spec, ResolverSettings(root / "e"), print)


@pytest.mark.usefixtures("numpys")
@pytest.mark.parametrize("own", [(), ("numpy",), ("numpy>=1",)])
def test_the_bounds_of_the_release_apply(own: tuple[str, ...], tmp_path: Path) -> None:
    lock = lock_of(tmp_path, "azureml-defaults==1.53.0", *own)
    assert (packages(lock)["numpy"], packages(lock)["pyarrow"]) == ("1.23", "11.0")
    assert lock.content["azureml"] == {"azureml-defaults": "1.53.0"} and not lock.warnings


@pytest.mark.usefixtures("numpys")
def test_the_users_pins_win_and_the_run_is_warned(tmp_path: Path) -> None:
    lock = lock_of(tmp_path, "azureml-defaults==1.53.0", "numpy==2.2")
    assert (packages(lock)["numpy"], packages(lock)["pyarrow"]) == ("2.2", "11.0")
    (warning,) = lock.warnings
    assert warning.endswith("the other requirements exclude that: numpy<1.24")


def test_needs_of_other_packages_win_as_well(numpys: Path, tmp_path: Path) -> None:
    make_wheel(numpys, "modern", "1.0", needs=("numpy>=2",))
    assert packages(lock_of(tmp_path, "azureml-sdk==1.53.0", "modern"))["numpy"] == "2.2"


@pytest.mark.usefixtures("wheels")
def test_an_index_without_them_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = lock_of(tmp_path, "azureml-defaults", "tiny")
    assert packages(lock) == {"tiny": "2.0"} and not lock.warnings
    assert "pyarrow<24" in capsys.readouterr().out
