"""Requests about clusters, after a check of what the user passed."""

from __future__ import annotations

from typing import Any

from footplate.domain.records import ComputeView
from footplate.domain.targets import LOCAL
from footplate.sdk.compute.configurations import EngineConfiguration
from footplate.sdk.exceptions import ComputeTargetException, Kinds, UserErrorException
from footplate.sdk.handles import WorkspaceHandle as Workspace

_RESERVED = ("amlcompute", LOCAL, "containerinstance")
KINDS: Kinds = {"not_found": ComputeTargetException, "conflict": ComputeTargetException}
CREATING: Kinds = dict(KINDS, invalid=ComputeTargetException)


def fetch(workspace: Workspace, name: str) -> ComputeView:
    if str(name).lower() == LOCAL:
        raise ComputeTargetException(
            "ComputeTargetNotFound: 'local' is this machine, not a cluster",
            hint="pass the name itself: ScriptRunConfig(compute_target='local')",
        )
    if not name or "/" in name:  # not a path of the API, so the server's error would not name the compute target
        hint = "list compute targets with: footplate compute list"
        raise ComputeTargetException(f"there is no compute target {name!r}", hint=hint)
    return workspace.session.api_for(KINDS).computes.get(workspace.id, name)


def put(workspace: Workspace, name: str, argument: str, wanted: Any, if_exists: str) -> ComputeView:
    if name.lower() in _RESERVED:
        raise UserErrorException(f"{name!r} is a reserved name", hint="choose another name for the compute target")
    if not isinstance(wanted, EngineConfiguration):
        raise ComputeTargetException(
            f"{argument} is {wanted!r}",
            hint="use AmlCompute.provisioning_configuration or ComputeTarget.engine_configuration",
        )
    return workspace.session.api_for(CREATING).computes.put(
        workspace.id,
        name,
        engine=wanted.engine,
        max_nodes=wanted.max_nodes,
        min_nodes=wanted.min_nodes,
        idle_seconds=wanted.idle_seconds_before_scaledown,
        options=wanted.options,
        if_exists=if_exists,
        check=wanted.check,
    )
