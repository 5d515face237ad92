from __future__ import annotations

from typing import Any

from fastapi import Response

from footplate.domain.records import ModelView
from footplate.domain.requests import NewModel
from footplate.errors import InvalidInput
from footplate.server.openapi import Page, Router
from footplate.server.responses import answer, answer_list
from footplate.server.rights import Right
from footplate.server.routes.parsing import Body, PrincipalOf, Repeated, ServicesOf, StrictFile, pairs

router = Router("models")


class ModelRegistration(Body):
    key: str
    name: str
    root: str | None = None
    files: tuple[StrictFile, ...] = ()
    run: str | None = None
    run_path: str | None = None
    description: str | None = None
    framework: str | None = None
    framework_version: str | None = None
    tags: dict[str, str | None] = {}
    properties: dict[str, str] = {}
    resources: dict[str, Any] = {}
    options: dict[str, Any] = {}
    datasets: tuple[tuple[str, str], ...] = ()


class ModelChange(Body):
    description: str | None = None
    tags: dict[str, str | None] | None = None
    remove_tags: tuple[str, ...] = ()
    properties: dict[str, str] | None = None
    datasets: tuple[tuple[str, str], ...] = ()
    resources: dict[str, Any] | None = None
    options: dict[str, Any] | None = None
    aliases: tuple[str, ...] = ()
    remove_aliases: tuple[str, ...] = ()


def _version(text: str) -> int | None:
    if text == "latest":
        return None
    if not (text.isascii() and text.isdigit()):
        raise InvalidInput(f"{text!r} is not a model version", "give a whole number, or 'latest'")
    return int(text)


@router.post("/workspaces/{workspace}/models", Right.REGISTER, ModelView)
def register_model(workspace: str, body: ModelRegistration, services: ServicesOf, principal: PrincipalOf) -> Response:
    """Register a new version of a model. A repeated `key` returns the same version. A run registers `run_path` of every
    run of its workspace, and files of its own in the name of itself and the runs below it."""
    if principal.run is not None and body.run is not None and not body.run_path:
        services.limits.check_claim(principal.run, body.run)
    return answer(services.models.register(workspace, NewModel(**dict(body))))


@router.get("/workspaces/{workspace}/models", Right.READ_WORKSPACE, Page(ModelView))
def list_models(
    workspace: str,
    services: ServicesOf,
    name: str | None = None,
    tag: Repeated = (),
    property: Repeated = (),
    run: str | None = None,
    framework: str | None = None,
    latest: bool = False,
) -> Response:
    """List registered models, the newest first."""
    return answer_list(services.models.list(workspace, name, pairs(tag), pairs(property), run, framework, latest))


@router.get("/workspaces/{workspace}/models/{name}/{version}", Right.READ_WORKSPACE, ModelView)
def get_model(workspace: str, name: str, version: str, services: ServicesOf) -> Response:
    """Return a version of a model."""
    return answer(services.models.get(workspace, name, _version(version)))


@router.patch("/workspaces/{workspace}/models/{name}/{version}", Right.REGISTER, ModelView)
def change_model(
    workspace: str, name: str, version: int, body: ModelChange, services: ServicesOf, principal: PrincipalOf
) -> Response:
    """Change the description, tags, properties, resources, options or aliases of a model version, or add datasets as
    (purpose, id). A sample takes the place of the one before it. An alias names one version: another loses it. A run
    changes resources and options only of models that came from it."""
    if principal.run is not None and (body.resources is not None or body.options is not None):
        services.limits.check_model_change(principal.run, services.models.get(workspace, name, version))
    return answer(services.models.change(workspace, name, version, **dict(body)))


@router.delete("/workspaces/{workspace}/models/{name}/{version}", Right.CHANGE_WORKSPACE, status_code=204)
def delete_model(workspace: str, name: str, version: int, services: ServicesOf) -> None:
    """Delete a version of a model."""
    services.models.delete(workspace, name, version)
