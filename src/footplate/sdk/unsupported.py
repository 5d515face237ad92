"""Parts of Azure's SDK that Footplate does not have. Importing one raises an error that names an alternative."""

from __future__ import annotations

from typing import NoReturn

PARTS = {
    "azureml.pipeline": (
        "has no pipelines",
        "submit one run after another; run.submit_child(config) groups them under one run",
    ),
    "azureml.train.automl": (
        "has no automated model selection",
        "submit your own training script with ScriptRunConfig",
    ),
}


def absent(module: str) -> NoReturn:
    what, hint = PARTS[module]
    raise ImportError(f"{module} is not available: Footplate {what}\nhint: {hint}", name=module)
