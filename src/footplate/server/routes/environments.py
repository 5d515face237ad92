from __future__ import annotations

from typing import Any

from fastapi import Response

from footplate.domain.records import CuratedView, EnvironmentView
from footplate.server.openapi import Page, Router
from footplate.server.responses import answer, answer_list
from footplate.server.rights import Right
from footplate.server.routes.parsing import Body, ServicesOf

router = Router("environments")


class NewEnvironment(Body):
    name: str
    definition: dict[str, Any]


class LabelsBody(Body):
    labels: list[str]


@router.post("/workspaces/{workspace}/environments", Right.REGISTER_ENVIRONMENTS, EnvironmentView)
def register_environment(workspace: str, body: NewEnvironment, services: ServicesOf) -> Response:
    """Register an environment. An unchanged definition keeps its version."""
    return answer(services.environments.register(workspace, body.name, body.definition))


@router.get("/workspaces/{workspace}/environments", Right.READ_WORKSPACE, Page(EnvironmentView))
def list_environments(workspace: str, services: ServicesOf) -> Response:
    """List the newest version of each registered environment."""
    return answer_list(services.environments.list(workspace))


@router.get("/workspaces/{workspace}/environments/{name}/{version}", Right.READ_WORKSPACE, EnvironmentView)
def get_environment(
    workspace: str, name: str, version: str, services: ServicesOf, label: str | None = None
) -> Response:
    """Return a version of a registered environment, by number, `latest` or label."""
    return answer(services.environments.get(workspace, name, None if version == "latest" else version, label))


@router.get("/curated-environments", Right.READ_SERVER, Page(CuratedView))
def list_curated_environments(services: ServicesOf) -> Response:
    """List the curated environments."""
    return answer_list(services.environments.list_curated())


@router.get("/curated-environments/{name}", Right.READ_SERVER, CuratedView)
def get_curated_environment(name: str, services: ServicesOf) -> Response:
    """Return a curated environment."""
    return answer(services.environments.get_curated(name))


@router.post(
    "/workspaces/{workspace}/environments/{name}/{version}/labels", Right.REGISTER_ENVIRONMENTS, EnvironmentView
)
def label_environment(workspace: str, name: str, version: str, body: LabelsBody, services: ServicesOf) -> Response:
    """Move labels to this version of an environment."""
    return answer(services.environments.label(workspace, name, version, body.labels))
