"""The workspace of the job that this process belongs to, for the nouns, which do not know `Run.get_context`."""

from __future__ import annotations

import os
from typing import Optional

from footplate import environ
from footplate.sdk.handles import WorkspaceHandle
from footplate.sdk.session import open_session


def workspace_of_job() -> Optional[WorkspaceHandle]:
    """Return the workspace; None outside a job."""
    run = os.environ.get(environ.RUN_ID)
    if not run or not os.environ.get(environ.ENDPOINT):
        return None
    session = open_session()
    workspace = os.environ.get("AZUREML_WORKSPACE_ID") or session.api.runs.get(run).workspace
    return WorkspaceHandle(session, session.api.workspaces.get(workspace))
