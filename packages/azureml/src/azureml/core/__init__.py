"""The names of `azureml.core`, each imported from Footplate on first use."""

from footplate.lazy import lazy_names, offer_submodules

VERSION = "1.61.0"
"""The release of Azure's SDK that these names follow."""

__version__ = VERSION

_NAMES = {
    "ComputeTarget": "footplate.sdk.compute.targets",
    "ContainerRegistry": "footplate.sdk.environments.sections",
    "Dataset": "footplate.sdk.data.dataset",
    "Datastore": "footplate.sdk.data.datastore",
    "Environment": "footplate.sdk.environments.environment",
    "Experiment": "footplate.sdk.experiment",
    "Image": "footplate.sdk.models.image",
    "Keyvault": "footplate.sdk.keyvault",
    "Model": "footplate.sdk.models.model",
    "Run": "footplate.sdk.run",
    "RunConfiguration": "footplate.sdk.config.run_configuration",
    "ScriptRun": "footplate.sdk.run",
    "ScriptRunConfig": "footplate.sdk.config.script_run_config",
    "Webservice": "footplate.sdk.models.webservice",
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
    "image",
    "keyvault",
    "model",
    "profile",
    "resource_configuration",
    "run",
    "runconfig",
    "script_run",
    "script_run_config",
    "webservice",
    "workspace",
)
"""Submodules that scripts use as `azureml.core.runconfig.…` after nothing but `import azureml.core`."""

__all__ = ["VERSION", *_NAMES]  # noqa: PLE0604  # so that `from azureml.core import *` loads them

__getattr__, __dir__ = lazy_names(__name__, _NAMES, _MODULES)

offer_submodules("azureml", ("_common", "_restclient", "data", "exceptions"))
