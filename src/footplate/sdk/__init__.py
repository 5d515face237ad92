"""The Python SDK: the classes of Azure ML SDK v1 on a Footplate server.

    workspace           Workspace: the home of everything below
    runs/               Experiment, Run: submitting, logging, waiting, snapshots
    config/             ScriptRunConfig, RunConfiguration and the files they are read from
    environments/       Environment, CondaDependencies
    data/               Datastore, Dataset, inputs and outputs of runs
    models/             Model
    compute/            ComputeTarget, AmlCompute
    estimators/         Estimator and its framework variants, the predecessors of ScriptRunConfig
    keyvault            secrets of a workspace
    session             the connection to the server; turns its errors into Azure's exceptions
    blob_transfer       uploads to and downloads from the server's content store
    exceptions          Azure's exceptions
    unsupported         the parts of Azure's surface that Footplate does not have, and the errors they raise
    authentication, telemetry       parts of Azure's surface that have nothing to do here
    tensorboard, tensorboard_export     TensorBoard on the logs and on the metrics of runs
    notebooks, widgets, progress, status_line   output for notebooks and terminals
    labels, timestamps  tags and times in Azure's form
    wrong_types         errors for arguments of wrong types, in place of raw exceptions
    warn                warnings that point at the user's own line

Standard library only, Python 3.8 syntax: jobs import it. `tests/e2e/test_sdk_*.py` and
`test_tensorboard.py` cover what needs a server.
"""

from __future__ import annotations

from footplate.lazy import lazy_submodules

TYPE_CHECKING = False  # typing's own costs 8 ms
if TYPE_CHECKING:
    from footplate.sdk import workspace as workspace
else:
    __getattr__ = lazy_submodules(__name__)
