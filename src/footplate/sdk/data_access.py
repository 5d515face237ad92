"""The stores that data lies in, opened for whoever may: with credentials, and therefore never kept or printed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional

from footplate.domain.datasets import BUILT_IN_DATASTORES, datastores_of
from footplate.sdk.exceptions import Kinds, UserErrorException

if TYPE_CHECKING:
    from footplate.sdk.workspace import Workspace

_KINDS: Kinds = {"not_found": UserErrorException}


def store_spec(workspace: Workspace, name: str) -> Dict[str, Any]:
    """All that is needed to open a datastore, as plain data."""
    session, run = workspace.session, run_of_this_process()
    if run is not None and not session.is_local:
        spec = session.get(f"/runs/{run}/datastores/{name}", kinds=_KINDS)  # a job's token opens what its run named
    else:
        spec = session.post(f"/workspaces/{workspace.id}/datastores/{name}/access", {}, _KINDS)
    _refuse_elsewhere(name, spec, session.is_local)
    return spec


def stores_of(workspace: Optional[Workspace], definition: Mapping[str, Any]) -> Dict[str, Any]:
    """The stores of a dataset, by name. One of web addresses alone needs none, and no workspace."""
    names = datastores_of(definition)
    if workspace is None and names:
        raise UserErrorException(f"the workspace of datastore {names[0]!r} is not known", hint="register the dataset")
    return {} if workspace is None else {name: store_spec(workspace, name) for name in names}


def run_of_this_process() -> Optional[str]:
    return os.environ.get("FOOTPLATE_RUN_ID") if os.environ.get("FOOTPLATE_ENDPOINT") else None


def _refuse_elsewhere(name: str, spec: Mapping[str, Any], is_local: bool) -> None:
    """The built-in stores are folders of the server's machine, and a folder of that name here would be another one."""
    if name in BUILT_IN_DATASTORES and not is_local and not os.path.isdir(spec["location"]["path"]):
        raise UserErrorException(
            f"datastore {name!r} is a folder of the server's machine, and this is another one",
            hint="register a store that both reach (an S3 bucket, a blob container, a shared folder) and make it the "
            "default: datastore.set_as_default()",
        )
