"""The workspace of the job that this process belongs to, for the nouns, which do not know `Run.get_context`."""

from __future__ import annotations

import os
from typing import Optional

from footplate import environ
from footplate.sdk.handles import WorkspaceHandle
from footplate.sdk.session import is_in_job, open_session


def workspace_of_job() -> Optional[WorkspaceHandle]:
    """Return the workspace; None outside a job."""
    if not is_in_job():
        return None
    session = open_session()
    workspace = os.environ.get("AZUREML_WORKSPACE_ID") or session.api.runs.get(os.environ[environ.RUN_ID]).workspace
    return WorkspaceHandle(session, session.api.workspaces.get(workspace))
