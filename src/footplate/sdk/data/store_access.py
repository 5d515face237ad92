"""Specs of datastores with their credentials, which are never kept or printed."""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple

from footplate import environ
from footplate.domain.codec import to_json
from footplate.domain.data import FOLDER
from footplate.domain.datasets import BUILT_IN_DATASTORES, datastores_of, through_server
from footplate.sdk.data import worker_client
from footplate.sdk.display.status_line import bar
from footplate.sdk.exceptions import Kinds, UserErrorException
from footplate.sdk.handles import WorkspaceHandle as Workspace

_KINDS: Kinds = {"not_found": UserErrorException}


def store_spec(workspace: Workspace, name: str) -> Dict[str, Any]:
    """Return everything needed to open a datastore, as plain data."""
    session = workspace.session
    run = run_of_this_process()
    if run is not None and session.token == os.environ.get(environ.TOKEN):  # not the session with another server
        spec = session.api_for(_KINDS).datastores.access_for_run(run, name)
    else:
        spec = session.api_for(_KINDS).datastores.access(workspace.id, name)
    if session.is_local or name not in BUILT_IN_DATASTORES or spec.kind != FOLDER:
        return to_json(spec)
    if os.path.isdir(spec.location["path"]):  # this is the server's machine, or shares its disk
        return to_json(spec)
    return to_json(through_server(session.endpoint, session.token, workspace.id, name))


def stores_of(workspace: Optional[Workspace], definition: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the stores of a dataset, by name. A dataset of URLs needs none, and no workspace."""
    names = datastores_of(definition)
    if workspace is None and names:
        raise UserErrorException(f"the workspace of datastore {names[0]!r} is unknown", hint="register the dataset")
    return {} if workspace is None else {name: store_spec(workspace, name) for name in names}


def run_of_this_process() -> Optional[str]:
    return os.environ.get(environ.RUN_ID) if os.environ.get(environ.ENDPOINT) else None


def upload_files(
    workspace: Workspace, datastore: str, files: Sequence[Tuple[str, str]], folder: str,
    overwrite: bool = True, show_progress: bool = False, **more: Any,
) -> Dict[str, int]:  # fmt: skip
    """Upload local files, each under the name beside it, to a folder of a datastore. `more` goes to the data worker."""
    store = store_spec(workspace, datastore)
    arguments = {"files": files, "store": store, "folder": folder, "overwrite": overwrite, **more}
    with bar(f"Uploading to {datastore}", show_progress) as report:
        return worker_client.call("upload", arguments, report)
