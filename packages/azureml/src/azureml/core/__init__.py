"""The names of `azureml.core`, each loaded from Footplate when it is first used."""

from __future__ import annotations

from footplate.lazy import lazily

VERSION = "1.61.0"
"""The release of Azure's SDK whose surface these names follow."""

__version__ = VERSION

_NAMES = {
    "ComputeTarget": "footplate.sdk.compute",
    "Dataset": "footplate.sdk.dataset",
    "Datastore": "footplate.sdk.datastore",
    "Environment": "footplate.sdk.environment",
    "Experiment": "footplate.sdk.experiment",
    "Keyvault": "footplate.sdk.keyvault",
    "Model": "footplate.sdk.model",
    "Run": "footplate.sdk.run",
    "RunConfiguration": "footplate.sdk.run_configuration",
    "ScriptRun": "footplate.sdk.script_run",
    "ScriptRunConfig": "footplate.sdk.script_run_config",
    "Webservice": "footplate.sdk.web_services",
    "Workspace": "azureml.core.workspace",
    "get_run": "footplate.sdk.run",
}
_MODULES = (
    "authentication",
    "compute",
    "compute_target",
    "conda_dependencies",
    "container_registry",
    "databricks",
    "dataset",
    "datastore",
    "environment",
    "experiment",
    "keyvault",
    "model",
    "resource_configuration",
    "run",
    "runconfig",
    "script_run",
    "script_run_config",
    "webservice",
    "workspace",
)
"""Scripts write `azureml.core.runconfig.…` after nothing but `import azureml.core`."""

__all__ = ["VERSION", *_NAMES]  # noqa: PLE0604  # so that `from azureml.core import *` loads them

__getattr__, __dir__ = lazily(__name__, _NAMES, _MODULES)
