"""How often public code uses each name of Azure's SDK, and whether the name works here.

`usage.tsv` has one line per name: kind (call, attribute or keyword), name, files among Azure's example notebooks over
all their versions, and files in 30 other public repositories. Names of pipelines are counted in all files that import
them. `AutoMLConfig` has the number of files that pass show_output to submit, which is the least that it can be.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Sequence
from dataclasses import dataclass

from footplate.cli.azureml import names
from footplate.cli.azureml.checker import DIFFERS, MISSING, WORKS
from footplate.cli.azureml.names import DIFFERENCES, IGNORED_KEYWORDS, Missing, Thing

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
    "azureml.data.dataset_consumption_config": "DatasetConsumptionConfig",
    "azureml.data.datapath": "DataPath DataPathComputeBinding",
    "azureml.data.data_reference": "DataReference",
    "azureml.pipeline.core": "Pipeline PipelineData PipelineDraft PipelineEndpoint PipelineParameter PipelineRun "
    "PublishedPipeline Schedule ScheduleRecurrence StepSequence TrainingOutput",
    "azureml.pipeline.core.graph": "InputPortDef",
    "azureml.pipeline.core.pipeline_output_dataset": "PipelineOutputFileDataset",
    "azureml.pipeline.steps": "AdlaStep AutoMLStep AzureBatchStep CommandStep DatabricksStep DataTransferStep "
    "EstimatorStep HyperDriveStep KustoStep ModuleStep MpiStep NotebookRunnerStep ParallelRunConfig ParallelRunStep "
    "PythonScriptStep SynapseSparkStep",
    "azureml.tensorboard": "Tensorboard",
    "azureml.train.automl": "AutoMLConfig",
    "azureml.train.automl.runtime": "AutoMLPipelineBuilder",
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
        thing = _resolve(name)
        if symbol.kind == "attribute" or thing is None:
            return None
        parameters = names.parameters(thing) or {}
        wrong = names.unknown_parameter(name, keyword.rstrip("=)"), parameters) if keyword else None
        if wrong:
            raise wrong
        names.call(thing, name)
    except Missing as missing:
        return f"{missing}\nhint: {missing.hint}" if missing.hint else str(missing)
    return None


def _resolve(name: str) -> Thing | None:
    first, *rest = name.split(".")
    homes = [(home, first) for home, has in HOMES.items() if first in has.split()]
    module, own_name = _FOLDED.get(first) or homes[0]
    thing = names.member(names.module(module), own_name)
    for part in rest:
        if thing is None:
            return None
        try:
            thing = names.member(thing, part) or names.member(Thing(thing.target, thing.name, True), part)
        except Missing:
            result = names.call(thing, thing.name)  # Datastore(…) returns an object of another class
            thing = names.member(result, part) if result else None
            if result is None:
                raise
    return thing


def judge(symbol: Symbol) -> tuple[str, str]:
    """Return whether a name works, differs or is missing, and why."""
    why = why_missing(symbol)
    if why is not None:
        return MISSING, why
    name, _, keyword = symbol.name.partition("(")
    difference = IGNORED_KEYWORDS.get(name, {}).get(keyword.rstrip("=)")) if keyword else DIFFERENCES.get(name)
    return (DIFFERS, difference) if difference else (WORKS, "")


def shares(judged: Sequence[tuple[Symbol, str]]) -> dict[str, float]:
    """Return the part of all uses whose names are in each state."""
    total = sum(each.files for each, _ in judged)
    return {
        chosen: sum(each.files for each, state in judged if state == chosen) / total
        for chosen in (WORKS, DIFFERS, MISSING)
    }
