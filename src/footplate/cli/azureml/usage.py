"""How often public code uses each name of Azure's SDK, and whether the name works here.

`usage.tsv` has one line per name: kind (call, attribute or keyword), name, files among Azure's example notebooks over
all their versions, and files in 30 other public repositories.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Sequence
from dataclasses import dataclass

from footplate.cli.azureml import names
from footplate.cli.azureml.names import Missing, Thing

HOMES = {
    "azureml.core": "Dataset Datastore Environment Experiment Model Run RunConfiguration ScriptRunConfig Webservice "
    "Workspace ComputeTarget",
    "azureml.core.authentication": "InteractiveLoginAuthentication ServicePrincipalAuthentication",
    "azureml.core.compute": "AmlCompute",
    "azureml.core.conda_dependencies": "CondaDependencies",
    "azureml.core.environment": "DockerSection PythonSection",
    "azureml.core.model": "InferenceConfig",
    "azureml.core.runconfig": "DockerConfiguration MpiConfiguration PyTorchConfiguration TensorflowConfiguration",
    "azureml.core.webservice": "AciWebservice LocalWebservice",
    "azureml.data": "FileDataset OutputFileDatasetConfig TabularDataset",
    "azureml.data.data_reference": "DataReference",
    "azureml.pipeline.core": "TrainingOutput",
    "azureml.tensorboard": "Tensorboard",
    "azureml.train.dnn": "Chainer PyTorch TensorFlow",
    "azureml.train.estimator": "Estimator",
    "azureml.train.hyperdrive": "BanditPolicy HyperDriveConfig PrimaryMetricGoal RandomParameterSampling choice",
    "azureml.train.sklearn": "SKLearn",
    "azureml.widgets": "RunDetails",
}
"""The module that public code imports each name from."""

_FOLDED = {"<run>": ("azureml.core", "Run"), "<dataset>": ("azureml.data.abstract_dataset", "AbstractDataset")}


@dataclass(frozen=True)
class Symbol:
    kind: str
    name: str
    examples: int
    others: int

    @property
    def files(self) -> int:
        return self.examples + self.others


def symbols() -> list[Symbol]:
    text = importlib.resources.files("footplate.cli.azureml").joinpath("usage.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines()]
    return [Symbol(kind, name, int(examples), int(others)) for kind, name, examples, others in rows]


def why_missing(symbol: Symbol) -> str | None:
    """Return why a name does not work here, with a hint on a line of its own if there is one; None if it works."""
    name, _, keyword = symbol.name.partition("(")
    try:
        found = _resolve(name)
        if symbol.kind == "attribute" or found is None:
            return None
        known = names.parameters(found) or {}
        wanted = keyword.rstrip("=)")
        if wanted and wanted not in known and not any(each.kind is each.VAR_KEYWORD for each in known.values()):
            return f"it has no parameter {wanted}"
        names.called(found, name)
    except Missing as missing:
        return f"{missing}\nhint: {missing.hint}" if missing.hint else str(missing)
    return None


def _resolve(name: str) -> Thing | None:
    first, *rest = name.split(".")
    homes = [(home, first) for home, has in HOMES.items() if first in has.split()]
    module, own_name = _FOLDED.get(first) or homes[0]
    found = names.member(names.module(module), own_name)
    for part in rest:
        if found is None:
            return None
        try:
            found = names.member(found, part) or names.member(Thing(found.target, found.name, True), part)
        except Missing:
            made = names.called(found, found.name)  # Datastore(…) returns an object of another class
            found = names.member(made, part) if made else None
            if made is None:
                raise
    return found


def share(resolved: Sequence[tuple[Symbol, str | None]]) -> float:
    """Return the part of all uses whose names work."""
    return sum(each.files for each, why in resolved if why is None) / sum(each.files for each, _ in resolved)
