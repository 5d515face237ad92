"""Steps that Footplate does not have, most of them because they need a service of a cloud.

Each raises at construction, and names the alternative.
"""

from __future__ import annotations

from typing import Any, Callable, NoReturn

from footplate.sdk.exceptions import UserErrorException


def _refuse(name: str, what: str, hint: str) -> Callable[..., NoReturn]:
    def construct(*args: Any, **kwargs: Any) -> NoReturn:
        raise UserErrorException(f"{name} is not available: Footplate has no {what}", hint=hint)

    construct.__name__ = name
    return construct


AdlaStep: Any = _refuse("AdlaStep", "Data Lake Analytics", "read the files with Dataset.Tabular in a PythonScriptStep")
AutoMLStep: Any = _refuse("AutoMLStep", "automated model selection", "train your own script in a PythonScriptStep")
AzureBatchStep: Any = _refuse("AzureBatchStep", "Azure Batch", "run the command on your own machines: CommandStep")
DatabricksStep: Any = _refuse("DatabricksStep", "Databricks", "run the script on your own machines: PythonScriptStep")
KustoStep: Any = _refuse("KustoStep", "Data Explorer", "query it with azure-kusto-data in a PythonScriptStep")
RScriptStep: Any = _refuse(
    "RScriptStep", "runtime for R", "run it as a command: CommandStep(command='Rscript train.R')"
)
SynapseSparkStep: Any = _refuse("SynapseSparkStep", "Synapse", "run PySpark in a PythonScriptStep")

DataTransferStep: Any = _refuse(
    "DataTransferStep", "transfers as steps yet", "copy the files in a PythonScriptStep, from an input to an output"
)
HyperDriveStep: Any = _refuse(
    "HyperDriveStep", "sweeps as steps yet", "submit the HyperDriveConfig by itself: experiment.submit(config)"
)
ModuleStep: Any = _refuse("ModuleStep", "modules yet", "use the script itself: PythonScriptStep(script_name)")
NotebookRunnerStep: Any = _refuse(
    "NotebookRunnerStep", "notebooks as steps yet", "PythonScriptStep('notebook.ipynb') executes a notebook"
)
ParallelRunStep: Any = _refuse(
    "ParallelRunStep", "parallel runs yet", "loop over the files in a PythonScriptStep, with multiprocessing"
)
