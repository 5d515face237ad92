"""Parts of Azure's SDK that Footplate does not have: who imports one is told so, and what to do instead."""

from __future__ import annotations

from typing import NoReturn

_SERVE = "fetch the model with model.download(), and serve it by other means"
_TENSORBOARD = (
    "does not start TensorBoard",
    "run.download_files('logs', 'tensorboard') fetches what the run wrote; then: tensorboard --logdir tensorboard",
)
PARTS = {
    "azureml.contrib.notebook": (
        "does not run notebooks",
        "jupyter nbconvert --to script NOTEBOOK.ipynb, and submit the script with ScriptRunConfig",
    ),
    "azureml.contrib.tensorboard": _TENSORBOARD,
    "azureml.core.image": ("has no images of web services", _SERVE),
    "azureml.pipeline": (
        "has no pipelines",
        "submit one run after the other; run.submit_child(config) makes them parts of one run",
    ),
    "azureml.tensorboard": _TENSORBOARD,
    "azureml.train.automl": (
        "does not choose models by itself",
        "submit the training of your choice, a ScriptRunConfig",
    ),
    "azureml.train.hyperdrive": (
        "does not search for hyperparameters yet",
        "submit a run for each choice: experiment.submit(config, tags=choice) in a loop, and compare run.get_metrics()",
    ),
}


def absent(module: str) -> NoReturn:
    what, hint = PARTS[module]
    raise ImportError(f"{module} is not there: Footplate {what}\nhint: {hint}", name=module)
