from __future__ import annotations

from fastapi import APIRouter, Response

from footplate.domain.records import ExperimentView
from footplate.server.openapi import Page, Route
from footplate.server.responses import answer, answer_list
from footplate.server.rights import Right, requires
from footplate.server.routes.parsing import Body, ServicesOf

router = APIRouter(tags=["experiments"], route_class=Route)


class ExperimentChange(Body):
    archived: bool | None = None
    tags: dict[str, str | None] | None = None
    remove_tags: tuple[str, ...] = ()


@router.put("/workspaces/{workspace}/experiments/{name}", response_model=ExperimentView)
@requires(Right.REGISTER)
def ensure_experiment(workspace: str, name: str, services: ServicesOf) -> Response:
    """Return an experiment; create it if necessary."""
    return answer(services.workspaces.ensure_experiment(workspace, name))


@router.get("/workspaces/{workspace}/experiments", response_model=Page(ExperimentView))
@requires(Right.READ_WORKSPACE)
def list_experiments(
    workspace: str, services: ServicesOf, name: str | None = None, archived: bool | None = None
) -> Response:
    """List the experiments of a workspace."""
    return answer_list(services.workspaces.list_experiments(workspace, name, archived))


@router.patch("/experiments/{experiment}", response_model=ExperimentView)
@requires(Right.CHANGE_WORKSPACE)
def change_experiment(experiment: str, body: ExperimentChange, services: ServicesOf) -> Response:
    """Archive or reactivate an experiment, or change its tags."""
    return answer(services.workspaces.change_experiment(experiment, **dict(body)))


@router.delete("/experiments/{experiment}", status_code=204)
@requires(Right.CHANGE_WORKSPACE)
def delete_experiment(experiment: str, services: ServicesOf) -> None:
    """Delete an experiment without runs."""
    services.workspaces.delete_experiment(experiment)
