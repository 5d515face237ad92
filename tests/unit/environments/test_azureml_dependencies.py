"""Packages that Azure's packages brought along, as soft requirements."""

from __future__ import annotations

from pathlib import Path

import pytest

from footplate.domain.locks import packages
from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.azureml_dependencies import NEWEST, brought, versions
from footplate.environments.base import ResolverSettings
from footplate.environments.venv import VenvBuilder
from support.wheels import make_wheel


@pytest.mark.parametrize(
    ("line", "expected", "absent"),
    [
        ("azureml-defaults==1.53.0", "numpy<1.24", "pandas<2"),
        ("azureml-defaults==1.36.0.post2", "pyarrow<4", "numpy<1.24"),
        ("azureml-defaults~=1.6", "pyyaml", "pyarrow<24"),
        ("azureml-defaults<1.62,>=1.50", "pyarrow<21", "numpy<1.24"),
        ("azureml-defaults", "pyarrow<24", "numpy<1.24"),
        ("azureml_sdk", "requests<3", "flask"),
        ("azureml-dataset-runtime[fuse,pandas]==1.40.0", "pandas<2", "mlflow-skinny"),
        ("azureml-mlflow==1.59.0", "mlflow-skinny<=2.15.1", "numpy<1.24"),
        ("azureml-mlflow==1.20.0", "mlflow>=1.0", "mlflow-skinny"),
        ("azureml-mlflow", 'skops<1 ; python_version >= "3.10"', "skops<1"),
        ("azureml-mlflow==1.51.0", 'skops<1 ; python_version >= "3.10"', "skops<1"),
        ("azureml-mlflow==1.60.0", "mlflow-skinny<3", 'skops<1 ; python_version >= "3.10"'),
        (
            "azureml-mlflow ; sys_platform == 'linux' or os_name == 'nt'",
            'skops<1 ; (python_version >= "3.10") and (sys_platform == "linux" or os_name == "nt")',
            'skops<1 ; python_version >= "3.10"',
        ),
        ("azureml-dataprep[pandas]==4.9.1", "pandas<2", "pyarrow<1"),
        ("azureml-core==1.50.0 ; python_version < '3.9'", 'pytz ; python_version < "3.9"', "numpy"),
    ],
)
def test_release_decides_what_is_brought(line: str, expected: str, absent: str) -> None:
    found = brought([line])
    assert expected in found and absent not in found


def test_other_lines_bring_nothing() -> None:
    assert brought(["numpy", "--pre", "azure-core", "azuremlutils"]) == []


def test_pinned_versions_are_kept() -> None:
    lines = ["azureml-core==1.53.0", "azureml_defaults~=1.52.0", "azureml-sdk>=1.0", "numpy==1.0"]
    assert versions(lines) == {"azureml-core": "1.53.0", "azureml-defaults": "1.52.0"}


def test_a_line_without_a_pin_follows_the_release_of_the_others() -> None:
    """A clone of AzureML-PyTorch-1.4, to which a notebook adds azureml-mlflow, contains mlflow of that time."""
    lines = ["azureml-defaults==1.8.0", "azureml-mlflow"]
    assert "mlflow>=1.0" in brought(lines) and versions(lines)["azureml-mlflow"] == "1.8.0"
    assert "mlflow-skinny" in brought(["azureml-defaults==1.8.0", "azureml-mlflow>=1.30,<1.43"])


def test_mlflow_is_recorded_without_a_pin() -> None:
    assert versions(["azureml-mlflow", "azureml-core"]) == {"azureml-mlflow": f"1.{NEWEST}.0"}
    assert versions(["azureml-mlflow<1.50"]) == {"azureml-mlflow": "1.49.0"}


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
