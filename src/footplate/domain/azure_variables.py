"""Environment variables that a script written for Azure ML expects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Container, Dict, Mapping, Optional, Sequence
from urllib.parse import quote, urlsplit

from footplate.domain.orders import DataInput, DataOutput
from footplate.domain.targets import LOCAL

if TYPE_CHECKING:
    from footplate.domain.records import RunHome
    from footplate.domain.specs import RunSpec

_FRAMEWORK = {"none": "Python", "mpi": "Python", "torch": "PyTorch", "tensorflow": "TensorFlow"}
_COMMUNICATOR = {"none": "None", "mpi": "IntelMpi", "torch": "Nccl", "tensorflow": "ParameterServer"}


INPUTS, OUTPUTS, OUTPUT = "AZUREML_DATASET_ENVIRONMENT_VARS", "AZUREML_DATASET_FILE_OUTPUTS", "AZURE_ML_OUTPUT_"
DIRECT = "DIRECT"
REFERENCE, _INPUT = "AZUREML_DATAREFERENCE_", "AZURE_ML_INPUT_"
WORKSPACE_SCOPE = "/subscriptions/{}/resourceGroups/{}/providers/Microsoft.MachineLearningServices/workspaces/{}"
TRACKING_URI = "MLFLOW_TRACKING_URI"


def data_variables(
    inputs: Sequence[DataInput], outputs: Sequence[DataOutput], places: Mapping[str, str], taken: Container[str]
) -> Dict[str, str]:
    """Return the variables by which a script finds its data: `places` are paths (or ids) of inputs and outputs by name.

    A dataset is available under its own name, and under its upper-case name unless that is `taken` or names another
    dataset: an input called `path` must not become the PATH of the job.
    """
    variables: Dict[str, str] = {}
    names = {each.name for each in (*inputs, *outputs)}
    for each in (*inputs, *outputs):
        place = places[each.name]
        variables[REFERENCE + each.name] = place
        is_dataset = each.dataset is not None if isinstance(each, DataInput) else each.is_dataset
        if not is_dataset:
            continue
        variables[(_INPUT if isinstance(each, DataInput) else OUTPUT) + each.name] = place
        for name in (each.name, each.name.upper()):
            if name == each.name or (name not in taken and name not in names):
                variables[name] = place
    named = [f"{each.name}:{each.mode.upper()}" for each in inputs if each.dataset is not None]
    written = [each.name for each in outputs if each.is_dataset]
    lists = {INPUTS: ",".join(named), OUTPUTS: ";".join(written)}
    return {**variables, **{name: value for name, value in lists.items() if value}}


def job_variables(
    run: str, spec: RunSpec, home: RunHome, endpoint: str, token: str, token_expiry: float, node: int
) -> Dict[str, str]:
    """Return the variables of every rank of `run` on `node`.

    The rank's own variables and the user's take precedence.
    """
    kind, backend = spec.distribution.kind, spec.distribution.backend
    return {
        "AZUREML_RUN_ID": run,
        "AZUREML_ARM_SUBSCRIPTION": home.subscription_id,
        "AZUREML_ARM_RESOURCEGROUP": home.resource_group,
        "AZUREML_ARM_WORKSPACE_NAME": home.workspace,
        "AZUREML_ARM_PROJECT_NAME": spec.experiment,
        "AZUREML_EXPERIMENT_ID": home.experiment_id,
        "AZUREML_WORKSPACE_ID": home.workspace_id,
        "AZUREML_SERVICE_ENDPOINT": endpoint,
        "AZUREML_DISCOVERY_SERVICE_ENDPOINT": endpoint,
        "AZUREML_RUN_TOKEN": token,
        "AZUREML_RUN_TOKEN_EXPIRY": str(int(token_expiry)),
        "AZUREML_TARGET_TYPE": LOCAL if spec.target == LOCAL else "batchai",
        "AZUREML_FRAMEWORK": _FRAMEWORK[kind],
        "AZUREML_COMMUNICATOR": backend or _COMMUNICATOR[kind],
        "AZUREML_OUTPUT_DIRECTORY": "./outputs",
        "AZUREML_LOGDIRECTORY_PATH": "./logs",
        "AZUREML_CR_NODE_RANK": str(node),
    }


def mlflow_tracking_uri(
    subscription_id: str, resource_group: str, workspace: str, endpoint: str, server: Optional[str] = None
) -> str:
    """Return the address of a workspace for MLflow; `server` is the address that the user gave, if any."""
    scope = WORKSPACE_SCOPE.format(*(quote(part, safe="") for part in (subscription_id, resource_group, workspace)))
    query = f"?server={quote(server, safe='')}" if server else ""
    return f"azureml://{urlsplit(endpoint).netloc or LOCAL}/mlflow/v1.0{scope}{query}"


def mlflow_variables(job: Mapping[str, str], has_plugin: bool) -> Dict[str, str]:
    """Return the variables by which MLflow logs to the run with these variables of `job_variables`.

    As in Azure ML, the run itself is named only in an environment that requires `azureml-mlflow`: a script that logs to
    an MLflow server of its own would look for the run there. In other environments the first run that MLflow starts
    in a job is the job's.
    """
    address = mlflow_tracking_uri(
        job["AZUREML_ARM_SUBSCRIPTION"],
        job["AZUREML_ARM_RESOURCEGROUP"],
        job["AZUREML_ARM_WORKSPACE_NAME"],
        job["AZUREML_SERVICE_ENDPOINT"],
    )
    if not has_plugin:
        return {TRACKING_URI: address}
    return {
        TRACKING_URI: address,
        "MLFLOW_RUN_ID": job["AZUREML_RUN_ID"],
        "MLFLOW_EXPERIMENT_ID": job["AZUREML_EXPERIMENT_ID"],
        "MLFLOW_EXPERIMENT_NAME": job["AZUREML_ARM_PROJECT_NAME"],
    }
