"""Parts of Azure's SDK that Footplate does not have. Importing or calling one raises an error that names an
alternative."""

from __future__ import annotations

from footplate.sdk.exceptions import UserErrorException

TYPE_CHECKING = False  # typing is not imported: a script that only logs does without it
if TYPE_CHECKING:
    from typing import Any, Callable, NoReturn

_NO_PIPELINES = (
    "has no pipelines",
    "submit one run after another; run.submit_child(config) groups them under one run",
)
_NO_AUTOML = "has no automated model selection", "submit your own training script with ScriptRunConfig"
_NO_EXPLAINERS = (
    "does not store explanations of models",
    "use the package interpret-community or shap directly, and keep the result: run.log_table, run.upload_file",
)
_NO_FAIRNESS = (
    "does not store fairness dashboards",
    "use the package fairlearn directly, and keep its metrics: run.log_row(name, **values)",
)
_NO_FPGAS = (
    "does not deploy models to FPGAs",
    "deploy the model with Model.deploy, or convert it first: model.to_onnx(sample_input)",
)
_NO_DRIFT = (
    "does not watch datasets for drift",
    "compare two datasets in a run: log the metrics of dataset.get_profile(), or use the package evidently",
)
_RENAMED_MLFLOW = (
    "has the MLflow tracking of this preview in azureml.mlflow",
    "use mlflow.set_tracking_uri(ws.get_mlflow_tracking_uri())",
)
_NO_CLOUD = "has no resources of a cloud", "leave the call out; data is reached through ws.datastores"

PARTS = {
    "azureml.accel": _NO_FPGAS,
    "azureml.automl": _NO_AUTOML,
    "azureml.contrib.automl": _NO_AUTOML,
    "azureml.contrib.brainwave": _NO_FPGAS,
    "azureml.contrib.core": (
        "has the compute classes of this preview in azureml.core.compute",
        "use a cluster of your machines: AmlCompute.provisioning_configuration(max_nodes=4)",
    ),
    "azureml.contrib.datadrift": _NO_DRIFT,
    "azureml.contrib.dataset": (
        "has the labeled datasets of this preview in azureml.core",
        "dataset.to_torchvision() reads labeled images; Dataset.Tabular reads the exported labels",
    ),
    "azureml.contrib.explain": _NO_EXPLAINERS,
    "azureml.contrib.fairness": _NO_FAIRNESS,
    "azureml.contrib.functions": (
        "does not package models as Azure Functions",
        "use Model.deploy, or make a container image: Model.package(ws, [model], inference_config)",
    ),
    "azureml.contrib.interpret": _NO_EXPLAINERS,
    "azureml.contrib.mir": ("has no managed inference of a cloud", "use Model.deploy(ws, name, [model], config)"),
    "azureml.contrib.mlflow": _RENAMED_MLFLOW,
    "azureml.contrib.opendatasets": (
        "has the open datasets of this preview in azureml.opendatasets",
        "import them from there: from azureml.opendatasets import MNIST",
    ),
    "azureml.contrib.pipeline": _NO_PIPELINES,
    "azureml.contrib.run": _RENAMED_MLFLOW,
    "azureml.contrib.train": (
        "has no reinforcement learning estimator",
        "submit a script that uses ray[rllib] with ScriptRunConfig",
    ),
    "azureml.core.linked_service": _NO_CLOUD,
    "azureml.core.private_endpoint": _NO_CLOUD,
    "azureml.datadrift": _NO_DRIFT,
    "azureml.dataprep": (
        "reads data with its own engine instead of dataprep",
        "use azureml.core.Dataset: Dataset.Tabular.from_delimited_files, from_parquet_files, from_json_lines_files",
    ),
    "azureml.explain": _NO_EXPLAINERS,
    "azureml.fairness": _NO_FAIRNESS,
    "azureml.interpret": _NO_EXPLAINERS,
    "azureml.responsibleai": (
        "has no Responsible AI dashboard",
        "use the package raiwidgets directly in a notebook",
    ),
    "azureml.train.automl": _NO_AUTOML,
}
"""Module → what Footplate lacks, and what to use instead."""


_DOC = """Raise an error: {why}.

Args:
    *args, **kwargs: Ignored.

Raises:
    UserErrorException: Always. The hint: {hint}.

Example:
    try:
        {variable}.{name}()
    except UserErrorException as error:
        print(error.hint)
"""


def absent(module: str) -> NoReturn:
    """Raise an error about a module. Code that tries other modules after a ModuleNotFoundError does so here, too."""
    what, hint = PARTS[module]
    raise ModuleNotFoundError(f"{module} is not available: Footplate {what}\nhint: {hint}", name=module)


def make_refusal(owner: str, variable: str, name: str, why: str, hint: str) -> Callable[..., NoReturn]:
    """Return a method that raises an error about itself; `variable` stands for the object in its example."""

    def method(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise UserErrorException(f"{owner}.{name} is not available: {why}", hint=hint)

    method.__name__ = name
    method.__doc__ = _DOC.format(variable=variable, name=name, why=why, hint=hint)
    return method
