from __future__ import annotations

from fastapi import APIRouter, Response

from footplate.domain.records import WorkspaceView
from footplate.domain.targets import LOCAL
from footplate.server.openapi import Page, Route
from footplate.server.responses import answer, answer_list
from footplate.server.rights import Right, requires
from footplate.server.routes.parsing import Body, PrincipalOf, ServicesOf

router = APIRouter(tags=["workspaces"], route_class=Route)


class NewWorkspace(Body):
    name: str
    subscription_id: str
    resource_group: str
    location: str = LOCAL
    friendly_name: str | None = None
    tags: dict[str, str | None] = {}
    if_exists: str = "refuse"


@router.post("/workspaces", response_model=WorkspaceView)
@requires(Right.CREATE_WORKSPACES)
def create_workspace(body: NewWorkspace, services: ServicesOf) -> Response:
    """Create a workspace, or return it if `if_exists` is `return`."""
    return answer(services.workspaces.create(**dict(body)))


@router.get("/workspaces", response_model=Page(WorkspaceView))
@requires(Right.LIST_WORKSPACES)
def list_workspaces(
    services: ServicesOf,
    principal: PrincipalOf,
    name: str | None = None,
    subscription_id: str | None = None,
    resource_group: str | None = None,
) -> Response:
    """List workspaces; a run sees its own."""
    found = services.workspaces.find(name, subscription_id, resource_group)
    return answer_list(view for view in found if principal.run is None or view.id == principal.workspace)


@router.get("/workspaces/{workspace}", response_model=WorkspaceView)
@requires(Right.READ_WORKSPACE)
def get_workspace(workspace: str, services: ServicesOf) -> Response:
    """Return a workspace."""
    return answer(services.workspaces.get(workspace))


@router.delete("/workspaces/{workspace}", status_code=204)
@requires(Right.CREATE_WORKSPACES)
def delete_workspace(workspace: str, services: ServicesOf, force: bool = False) -> None:
    """Delete a workspace that is empty; with `force`, everything in it too."""
    services.workspaces.delete(workspace, force)
