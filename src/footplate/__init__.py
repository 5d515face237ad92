"""Footplate: the Azure ML SDK v1 training workflow, open source, on your own machine.

`__all__` lists the public names. Each is imported on first use: importing this package costs nothing. Type checkers
read `__init__.pyi` beside this file.
"""

from __future__ import annotations

from footplate.lazy import lazy_names

__version__ = "0.2.0"

_HOMES = {
    "footplate.domain.tuning.sweeps": ("Constraint",),
    "footplate.errors": ("FootplateError",),
    "footplate.sdk.compute.targets": ("AmlCompute", "ComputeTarget"),
    "footplate.sdk.environments.conda_dependencies": ("CondaDependencies",),
    "footplate.sdk.data.references": ("DataReference",),
    "footplate.sdk.data.dataset": ("Dataset",),
    "footplate.sdk.data.datastore": ("Datastore",),
    "footplate.sdk.environments.environment": ("Environment",),
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
    "footplate.sdk.models.model": ("Model",),
    "footplate.sdk.data.output_dataset": ("OutputFileDatasetConfig",),
    "footplate.sdk.models.resource_configuration": ("ResourceConfiguration",),
    "footplate.sdk.run": ("Run", "ScriptRun"),
    "footplate.sdk.config.run_configuration": (
        "DockerConfiguration",
        "MpiConfiguration",
        "PyTorchConfiguration",
        "RunConfiguration",
        "TensorflowConfiguration",
    ),
    "footplate.sdk.config.script_run_config": ("ScriptRunConfig",),
    "footplate.sdk.tuning.parameter_expressions": ("when",),
    "footplate.sdk.tuning.policy": ("AshaPolicy", "HyperbandPolicy", "PopulationBasedTraining"),
    "footplate.sdk.tuning.sampling": ("OptunaParameterSampling",),
    "footplate.sdk.widgets": ("RunDetails",),
    "footplate.sdk.workspace": ("Workspace",),
}
_NAMES = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_NAMES)  # noqa: PLE0605  # pyright: ignore[reportUnsupportedDunderAll]

__getattr__, __dir__ = lazy_names(__name__, _NAMES)
