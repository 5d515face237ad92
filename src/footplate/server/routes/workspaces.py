from __future__ import annotations

from typing import Any

from fastapi import Response

from footplate.domain.records import WorkspaceView
from footplate.domain.replies import SavedView
from footplate.domain.targets import LOCAL
from footplate.server.openapi import Page, Router
from footplate.server.responses import answer, answer_list
from footplate.server.rights import Right
from footplate.server.routes.parsing import Body, PrincipalOf, ServicesOf

router = Router("workspaces")


class NewWorkspace(Body):
    name: str
    subscription_id: str
    resource_group: str
    location: str = LOCAL
    friendly_name: str | None = None
    tags: dict[str, str | None] = {}
    if_exists: str = "refuse"


class ViewContent(Body):
    search: dict[str, Any]


@router.post("/workspaces", Right.CREATE_WORKSPACES, WorkspaceView)
def create_workspace(body: NewWorkspace, services: ServicesOf) -> Response:
    """Create a workspace, or return it if `if_exists` is `return`."""
    return answer(services.workspaces.create(**dict(body)))


@router.get("/workspaces", Right.LIST_WORKSPACES, Page(WorkspaceView))
def list_workspaces(
    services: ServicesOf,
    principal: PrincipalOf,
    name: str | None = None,
    subscription_id: str | None = None,
    resource_group: str | None = None,
) -> Response:
    """List the workspaces that the principal may read; a run sees its own."""
    views = services.workspaces.find(name, subscription_id, resource_group)
    return answer_list(view for view in views if principal.may_read(view.id))


@router.get("/workspaces/{workspace}", Right.READ_WORKSPACE, WorkspaceView)
def get_workspace(workspace: str, services: ServicesOf) -> Response:
    """Return a workspace."""
    return answer(services.workspaces.get(workspace))


@router.delete("/workspaces/{workspace}", Right.CREATE_WORKSPACES, status_code=204)
def delete_workspace(workspace: str, services: ServicesOf, force: bool = False) -> None:
    """Delete a workspace that is empty; with `force`, everything in it too."""
    services.workspaces.delete(workspace, force)


@router.get("/workspaces/{workspace}/views", Right.READ_WORKSPACE, Page(SavedView))
def list_views(workspace: str, services: ServicesOf) -> Response:
    """List the saved views of the page's table of runs, by name."""
    return answer_list(services.workspaces.views(workspace))


@router.put("/workspaces/{workspace}/views/{name}", Right.CHANGE_VIEWS, SavedView)
def save_view(workspace: str, name: str, body: ViewContent, services: ServicesOf) -> Response:
    """Save a view of the page's table of runs; one of the same name is replaced."""
    return answer(services.workspaces.save_view(workspace, name, body.search))


@router.delete("/workspaces/{workspace}/views/{name}", Right.CHANGE_VIEWS, status_code=204)
def delete_view(workspace: str, name: str, services: ServicesOf) -> None:
    """Delete a saved view."""
    services.workspaces.delete_view(workspace, name)
