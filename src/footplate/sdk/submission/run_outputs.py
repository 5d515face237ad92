"""Outputs of a run as a path on a datastore.

Azure keeps the files of runs in a datastore. Ours are with the run, so they are copied to where Azure's would be.
"""

from __future__ import annotations

import os
import tempfile

from footplate.sdk.data.datastore import Datastore
from footplate.sdk.data.references import DataPath
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.runs import files

_OUTPUTS = "outputs"


def outputs_datapath(workspace: Workspace, run_id: str) -> DataPath:
    """Copy the run's `outputs` to the default datastore, and return their path. Existing copies are replaced."""
    if not files.listing(workspace.session, run_id, f"{_OUTPUTS}/"):
        raise UserErrorException(
            f"run {run_id} has no outputs", hint="wait until it has ended: run.wait_for_completion()"
        )
    datastore = Datastore.get_default(workspace)
    path = f"azureml/ExperimentRun/dcid.{run_id}/{_OUTPUTS}"
    with tempfile.TemporaryDirectory(prefix="footplate-outputs-") as folder:
        files.download_many(workspace.session, run_id, f"{_OUTPUTS}/", folder, None, True)
        datastore.upload(os.path.join(folder, _OUTPUTS), path, overwrite=True, show_progress=False)
    return DataPath(datastore, path)
