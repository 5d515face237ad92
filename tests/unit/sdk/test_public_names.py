from __future__ import annotations

import ast
from pathlib import Path

import pytest

import footplate

PUBLIC = [
    "ActivityFailedException",
    "AmlCompute",
    "AshaPolicy",
    "AzureMLException",
    "ComputeTarget",
    "ComputeTargetException",
    "CondaDependencies",
    "Constraint",
    "DataReference",
    "Dataset",
    "Datastore",
    "DockerConfiguration",
    "Environment",
    "Experiment",
    "ExperimentExecutionException",
    "FootplateError",
    "HyperbandPolicy",
    "Model",
    "ModelNotFoundException",
    "ModelPathNotFoundException",
    "MpiConfiguration",
    "OptunaParameterSampling",
    "OutputFileDatasetConfig",
    "PopulationBasedTraining",
    "PyTorchConfiguration",
    "ResourceConfiguration",
    "Run",
    "RunConfiguration",
    "RunConfigurationException",
    "RunDetails",
    "ScriptRun",
    "ScriptRunConfig",
    "ServiceException",
    "SnapshotException",
    "TensorflowConfiguration",
    "UserErrorException",
    "WebserviceException",
    "Workspace",
    "WorkspaceException",
    "when",
]


def test_the_public_names():
    assert footplate.__all__ == PUBLIC  # type: ignore[attr-defined]
    assert set(PUBLIC) <= set(dir(footplate))


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_is_loaded_from_its_module(name: str):
    assert getattr(footplate, name).__name__ == name


def test_the_stub_has_the_same_names():
    stub = ast.parse(Path(footplate.__file__).with_suffix(".pyi").read_text())
    seen = sorted(str(alias.asname) for s in stub.body if isinstance(s, ast.ImportFrom) for alias in s.names)
    assert seen == PUBLIC


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Wrokspace'"):
        footplate.Wrokspace  # type: ignore[attr-defined]  # noqa: B018


def test_the_version_matches_the_distribution():
    project = Path(footplate.__file__).parents[2] / "pyproject.toml"
    assert f'version = "{footplate.__version__}"' in project.read_text()
