"""Metadata of the azureml packages for jobs."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

import azureml.core
from footplate.domain.orders import Lock
from footplate.node.distributions import VERSION, write


def versions(folder: str) -> dict[str, str]:
    found = importlib.metadata.distributions(path=[folder])
    return {one.metadata["Name"]: one.version for one in found}


def test_pinned_versions_are_reported_and_ours_otherwise(tmp_path: Path) -> None:
    lock = Lock("0" * 64, "venv", {"azureml": {"azureml-defaults": "1.53.0", "azureml-mlflow": "1.52.0"}})
    found = versions(write(str(tmp_path / "d"), lock))
    assert (found["azureml-core"], found["azureml-mlflow"]) == ("1.53.0", "1.52.0")
    assert versions(write(str(tmp_path / "e"), Lock("0" * 64, "venv", {})))["azureml-core"] == VERSION


def test_jobs_with_the_same_versions_share_one_directory(tmp_path: Path) -> None:
    first, second = (write(str(tmp_path), Lock(digest * 64, "venv", {})) for digest in "01")
    assert first == second
    assert [str(path) for path in tmp_path.iterdir()] == [first]
    assert write(str(tmp_path), Lock("2" * 64, "venv", {"azureml": {"azureml-core": "1.53.0"}})) != first


def test_mlflow_finds_the_same_plugins_as_in_the_package(tmp_path: Path) -> None:
    folder = write(str(tmp_path), Lock("0" * 64, "venv", {}))
    (ours,) = importlib.metadata.distributions(name="azureml-core", path=[folder])
    text = (Path(__file__).parents[3] / "packages/azureml/pyproject.toml").read_text(encoding="utf-8")
    declared = re.findall(r'\[project\.entry-points\."(.+)"\]\n(\w+) = "(.+)"', text)
    assert len(declared) == 3 and [(one.group, one.name, one.value) for one in ours.entry_points] == declared
    assert all(callable(one.load()) for one in ours.entry_points)


def test_our_version_is_that_of_the_modules() -> None:
    assert azureml.core.VERSION == VERSION
