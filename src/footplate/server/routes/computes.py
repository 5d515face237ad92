from __future__ import annotations

from typing import Any

from fastapi import Response

from footplate.domain.records import ClusterView, ComputeView, EngineView
from footplate.domain.targets import LOCAL
from footplate.server.openapi import Page, Router
from footplate.server.responses import answer, answer_list
from footplate.server.rights import Right
from footplate.server.routes.parsing import Body, ServicesOf

router = Router("computes")


class NewCompute(Body):
    max_nodes: int
    min_nodes: int = 0
    idle_seconds: float = 1800.0
    engine: str = LOCAL
    options: dict[str, Any] = {}
    if_exists: str = "refuse"
    check: bool = True


class ComputeChange(Body):
    max_nodes: int | None = None
    min_nodes: int | None = None
    idle_seconds: float | None = None
    options: dict[str, Any] | None = None


@router.get("/engines", Right.READ_SERVER, Page(EngineView))
def list_engines(services: ServicesOf) -> Response:
    """List the engines of the server with the options of their compute targets."""
    return answer_list(services.computes.engines())


@router.put("/workspaces/{workspace}/computes/{name}", Right.CHANGE_WORKSPACE, ComputeView)
def put_compute(workspace: str, name: str, body: NewCompute, services: ServicesOf) -> Response:
    """Create a compute target, or replace it if `if_exists` is `replace`. `check`: ask its cluster first."""
    return answer(services.computes.put(workspace, name, **dict(body)))


@router.get("/workspaces/{workspace}/computes", Right.READ_WORKSPACE, Page(ComputeView))
def list_computes(workspace: str, services: ServicesOf) -> Response:
    """List the compute targets of a workspace."""
    return answer_list(services.computes.list(workspace))


@router.get("/workspaces/{workspace}/computes/{name}", Right.READ_WORKSPACE, ComputeView)
def get_compute(workspace: str, name: str, services: ServicesOf) -> Response:
    """Return a compute target with its nodes."""
    return answer(services.computes.get(workspace, name))


@router.get("/workspaces/{workspace}/computes/{name}/cluster", Right.READ_WORKSPACE, ClusterView)
def get_cluster(workspace: str, name: str, services: ServicesOf) -> Response:
    """Ask the cluster of a compute target how many machines it has."""
    return answer(services.computes.cluster(workspace, name))


@router.patch("/workspaces/{workspace}/computes/{name}", Right.CHANGE_WORKSPACE, ComputeView)
def change_compute(workspace: str, name: str, body: ComputeChange, services: ServicesOf) -> Response:
    """Change the settings of a compute target that are given."""
    return answer(services.computes.change(workspace, name, **dict(body)))


@router.delete("/workspaces/{workspace}/computes/{name}", Right.CHANGE_WORKSPACE, status_code=204)
def delete_compute(workspace: str, name: str, services: ServicesOf) -> None:
    """Delete a compute target that no active run uses."""
    services.computes.delete(workspace, name)
