"""The names of `azureml.core`, each loaded from Footplate when it is first used."""

from __future__ import annotations

from footplate.lazy import lazily

VERSION = "1.61.0"
"""The release of Azure's SDK whose surface these names follow."""

__version__ = VERSION

__getattr__, __dir__ = lazily(
    __name__,
    {
        "ComputeTarget": "footplate.sdk.compute",
        "Environment": "footplate.sdk.environment",
        "Experiment": "footplate.sdk.experiment",
        "Model": "footplate.sdk.model",
        "Run": "footplate.sdk.run",
        "RunConfiguration": "footplate.sdk.run_configuration",
        "ScriptRun": "footplate.sdk.script_run",
        "ScriptRunConfig": "footplate.sdk.script_run_config",
        "Workspace": "footplate.sdk.workspace",
        "get_run": "footplate.sdk.run",
    },
)
