"""The Python SDK: Azure ML SDK v1's classes on a Footplate server. Standard library only, Python 3.8:
it runs inside jobs.

workspace           Workspace: where everything below is kept
runs/               Experiment, Run, submitting, logging, snapshots
config/             ScriptRunConfig, RunConfiguration and the files they are read from
environments/       Environment, CondaDependencies
data/               Datastore, Dataset, inputs and outputs
models/             Model
compute/            ComputeTarget, AmlCompute
estimators/         the older way to describe a training run
keyvault            secrets of a workspace
session             the connection to the server; its errors become Azure's exceptions here
blob_transfer       uploads to and downloads from the server's content store
exceptions          Azure's exceptions
authentication, telemetry, unsupported, cloud_workspace     parts of Azure's surface that need nothing here
widgets, progress   output for notebooks and terminals
labels, timestamps  tags and times as Azure writes them
"""

from __future__ import annotations

from footplate.lazy import lazy_submodules

TYPE_CHECKING = False  # typing's own costs 8 ms
if TYPE_CHECKING:
    from footplate.sdk import workspace as workspace
else:
    __getattr__ = lazy_submodules(__name__)
