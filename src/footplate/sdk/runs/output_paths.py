"""Outputs of a run as a path on a datastore.

Azure keeps the files of runs in a datastore. Ours are with the run, so they are copied to where Azure's would be.
"""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

from footplate.sdk.data.references import DataPath
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.runs import files

if TYPE_CHECKING:
    from footplate.sdk.runs.run import Run

_OUTPUTS = "outputs"


def outputs_datapath(run: Run) -> DataPath:
    """Copy the run's `outputs` to the default datastore, and return their path. Existing copies are replaced."""
    workspace = run.experiment.workspace
    if not files.listing(workspace.session, run.id, f"{_OUTPUTS}/"):
        raise UserErrorException(
            f"run {run.id} has no outputs", hint="wait until it has ended: run.wait_for_completion()"
        )
    datastore, path = workspace.get_default_datastore(), f"azureml/ExperimentRun/dcid.{run.id}/{_OUTPUTS}"
    with tempfile.TemporaryDirectory(prefix="footplate-outputs-") as folder:
        run.download_files(f"{_OUTPUTS}/", folder)
        datastore.upload(os.path.join(folder, _OUTPUTS), path, overwrite=True, show_progress=False)
    return DataPath(datastore, path)
