from __future__ import annotations

from fastapi import Response

from footplate.domain.records import ExperimentView
from footplate.server.openapi import Page, Router
from footplate.server.responses import answer, answer_list
from footplate.server.rights import Right
from footplate.server.routes.parsing import Body, ServicesOf

router = Router("experiments")


class ExperimentChange(Body):
    archived: bool | None = None
    tags: dict[str, str | None] | None = None
    remove_tags: tuple[str, ...] = ()


@router.put("/workspaces/{workspace}/experiments/{name}", Right.REGISTER, ExperimentView)
def ensure_experiment(workspace: str, name: str, services: ServicesOf) -> Response:
    """Return an experiment; create it if necessary."""
    return answer(services.workspaces.ensure_experiment(workspace, name))


@router.get("/workspaces/{workspace}/experiments", Right.READ_WORKSPACE, Page(ExperimentView))
def list_experiments(
    workspace: str, services: ServicesOf, name: str | None = None, archived: bool | None = None
) -> Response:
    """List the experiments of a workspace."""
    return answer_list(services.workspaces.list_experiments(workspace, name, archived))


@router.patch("/experiments/{experiment}", Right.CHANGE_WORKSPACE, ExperimentView)
def change_experiment(experiment: str, body: ExperimentChange, services: ServicesOf) -> Response:
    """Archive or reactivate an experiment, or change its tags."""
    return answer(services.workspaces.change_experiment(experiment, **dict(body)))


@router.delete("/experiments/{experiment}", Right.CHANGE_WORKSPACE, status_code=204)
def delete_experiment(experiment: str, services: ServicesOf) -> None:
    """Delete an experiment without runs."""
    services.workspaces.delete_experiment(experiment)
