"""The variables that a script written for Azure ML expects to find in its environment."""

from __future__ import annotations

from typing import Dict

from footplate.domain.records import RunView, WorkspaceView

_FRAMEWORK = {"none": "Python", "mpi": "Python", "torch": "PyTorch", "tensorflow": "TensorFlow"}
_COMMUNICATOR = {"none": "None", "mpi": "IntelMpi", "torch": "Nccl", "tensorflow": "ParameterServer"}


def job_variables(
    run: RunView, workspace: WorkspaceView, endpoint: str, token: str, token_expiry: float, node: int
) -> Dict[str, str]:
    """What every rank of `run` on `node` sees, before its own rank's variables and the user's are laid over it."""
    distribution = run.spec.distribution if run.spec else None
    kind = distribution.kind if distribution else "none"
    backend = (distribution.backend if distribution else None) or _COMMUNICATOR[kind]
    return {
        "AZUREML_RUN_ID": run.id,
        "AZUREML_ARM_SUBSCRIPTION": workspace.subscription_id,
        "AZUREML_ARM_RESOURCEGROUP": workspace.resource_group,
        "AZUREML_ARM_WORKSPACE_NAME": workspace.name,
        "AZUREML_ARM_PROJECT_NAME": run.experiment,
        "AZUREML_EXPERIMENT_ID": run.experiment_id,
        "AZUREML_WORKSPACE_ID": workspace.id,
        "AZUREML_SERVICE_ENDPOINT": endpoint,
        "AZUREML_DISCOVERY_SERVICE_ENDPOINT": endpoint,
        "AZUREML_RUN_TOKEN": token,
        "AZUREML_RUN_TOKEN_EXPIRY": str(int(token_expiry)),
        "AZUREML_TARGET_TYPE": "local" if run.target == "local" else "batchai",
        "AZUREML_FRAMEWORK": _FRAMEWORK[kind],
        "AZUREML_COMMUNICATOR": backend,
        "AZUREML_OUTPUT_DIRECTORY": "./outputs",
        "AZUREML_LOGDIRECTORY_PATH": "./logs",
        "AZUREML_CR_NODE_RANK": str(node),
    }
