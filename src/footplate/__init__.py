"""Footplate: the Azure ML SDK v1 training workflow, open, on your own machines.

The public names are those of `__all__`, and each is loaded when it is first used: importing this package costs nothing.
Type checkers read `__init__.pyi` beside this file; a test holds the two together.
"""

from __future__ import annotations

from footplate.lazy import lazily

__version__ = "0.1.0"

_HOMES = {
    "footplate.errors": ("FootplateError",),
    "footplate.sdk.compute": ("AmlCompute", "ComputeTarget"),
    "footplate.sdk.conda_dependencies": ("CondaDependencies",),
    "footplate.sdk.data_reference": ("DataReference",),
    "footplate.sdk.dataset": ("Dataset",),
    "footplate.sdk.datastore": ("Datastore",),
    "footplate.sdk.environment": ("Environment",),
    "footplate.sdk.exceptions": (
        "ActivityFailedException",
        "AzureMLException",
        "ComputeTargetException",
        "ExperimentExecutionException",
        "ModelNotFoundException",
        "ModelPathNotFoundException",
        "RunConfigurationException",
        "ServiceException",
        "SnapshotException",
        "UserErrorException",
        "WebserviceException",
        "WorkspaceException",
    ),
    "footplate.sdk.experiment": ("Experiment",),
    "footplate.sdk.model": ("Model",),
    "footplate.sdk.output_dataset": ("OutputFileDatasetConfig",),
    "footplate.sdk.resource_configuration": ("ResourceConfiguration",),
    "footplate.sdk.run": ("Run",),
    "footplate.sdk.run_configuration": (
        "DockerConfiguration",
        "MpiConfiguration",
        "PyTorchConfiguration",
        "RunConfiguration",
        "TensorflowConfiguration",
    ),
    "footplate.sdk.script_run": ("ScriptRun",),
    "footplate.sdk.script_run_config": ("ScriptRunConfig",),
    "footplate.sdk.widgets": ("RunDetails",),
    "footplate.sdk.workspace": ("Workspace",),
}
_NAMES = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_NAMES)  # noqa: PLE0605  # pyright: ignore[reportUnsupportedDunderAll]

__getattr__, __dir__ = lazily(__name__, _NAMES)
