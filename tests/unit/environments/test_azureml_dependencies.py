"""Packages that Azure's packages brought along, as soft requirements."""

from __future__ import annotations

import pytest

from footplate.environments.azureml_dependencies import NEWEST, find_dependencies, versions


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
    found = find_dependencies([line])
    assert expected in found and absent not in found


def test_other_lines_bring_nothing() -> None:
    assert find_dependencies(["numpy", "--pre", "azure-core", "azuremlutils"]) == []


def test_pinned_versions_are_kept() -> None:
    lines = ["azureml-core==1.53.0", "azureml_defaults~=1.52.0", "azureml-sdk>=1.0", "numpy==1.0"]
    assert versions(lines) == {"azureml-core": "1.53.0", "azureml-defaults": "1.52.0"}


def test_a_line_without_a_pin_follows_the_release_of_the_others() -> None:
    """A clone of AzureML-PyTorch-1.4, to which a notebook adds azureml-mlflow, contains mlflow of that time."""
    lines = ["azureml-defaults==1.8.0", "azureml-mlflow"]
    assert "mlflow>=1.0" in find_dependencies(lines) and versions(lines)["azureml-mlflow"] == "1.8.0"
    assert "mlflow-skinny" in find_dependencies(["azureml-defaults==1.8.0", "azureml-mlflow>=1.30,<1.43"])


def test_mlflow_is_recorded_without_a_pin() -> None:
    assert versions(["azureml-mlflow", "azureml-core"]) == {"azureml-mlflow": f"1.{NEWEST}.0"}
    assert versions(["azureml-mlflow<1.50"]) == {"azureml-mlflow": "1.49.0"}
