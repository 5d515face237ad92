from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import Query, Request, Response
from pydantic import BeforeValidator

from footplate.domain.serving.endpoints import (
    CertificateFiles,
    EndpointView,
    ServiceKeys,
    ServiceLog,
    ServiceSettings,
    ServiceToken,
    VersionSpec,
)
from footplate.errors import InvalidInput
from footplate.server.authorization import check_service_change
from footplate.server.connections import CONNECTION, HttpConnection
from footplate.server.openapi import Page, Router
from footplate.server.responses import answer, answer_list
from footplate.server.rights import Right
from footplate.server.routes.parsing import Body, HubOf, PrincipalOf, ServicesOf, poll, strictly
from footplate.services.topics import EndpointChanged
from footplate.serving.protocol import TUNNEL

router = Router("endpoints")

StrictSettings = Annotated[ServiceSettings, BeforeValidator(strictly(ServiceSettings))]
StrictVersion = Annotated[VersionSpec, BeforeValidator(strictly(VersionSpec))]
StrictCertificate = Annotated[CertificateFiles, BeforeValidator(strictly(CertificateFiles))]


class Deployment(Body):
    name: str
    key: str
    settings: StrictSettings
    version: StrictVersion
    goal: float = 100.0
    overwrite: bool = False
    created_by: str = ""
    certificate: StrictCertificate | None = None


class EndpointChange(Body):
    key: str
    settings: StrictSettings | None = None
    version: StrictVersion | None = None
    goal: float = 100.0
    shadow: bool = False
    certificate: StrictCertificate | None = None


class TrafficSplit(Body):
    weights: dict[int, float]


class VersionChange(Body):
    goal: float | None = None
    description: str | None = None
    definition: dict[str, Any] | None = None


class KeysRequest(Body):
    renew: str | None = None
    value: str | None = None


@router.post("/workspaces/{workspace}/endpoints", Right.DEPLOY_SERVICES, EndpointView)
def deploy_endpoint(workspace: str, body: Deployment, services: ServicesOf, principal: PrincipalOf) -> Response:
    """Create a web service with its first version. A repeated `key` returns the same service.

    The principal owns it; `created_by` of older clients is ignored. Only who may change a service can overwrite it.
    """
    if body.overwrite:
        check_service_change(principal, workspace, body.name, services)
    details: dict[str, Any] = {**dict(body), "created_by": principal.name, "person": principal.person}
    return answer(services.endpoints.deploy(workspace, **details))


@router.get("/workspaces/{workspace}/endpoints", Right.READ_WORKSPACE, Page(EndpointView))
def list_endpoints(workspace: str, services: ServicesOf) -> Response:
    """List the web services of a workspace by name."""
    return answer_list(services.endpoints.list(workspace))


@router.get("/workspaces/{workspace}/endpoints/{name}", Right.READ_WORKSPACE, EndpointView)
async def get_endpoint(
    workspace: str,
    name: str,
    services: ServicesOf,
    hub: HubOf,
    revision: int = -1,
    wait: Annotated[float, Query(ge=0)] = 0.0,
) -> Response:
    """Return a web service. With `wait`, wait for a newer `revision`."""

    def read() -> EndpointView:
        return services.endpoints.get(workspace, name)

    return answer(await poll(hub, EndpointChanged(workspace, name), read, lambda view: view.revision > revision, wait))


@router.patch("/workspaces/{workspace}/endpoints/{name}", Right.MANAGE_SERVICES, EndpointView)
def change_endpoint(workspace: str, name: str, body: EndpointChange, services: ServicesOf) -> Response:
    """Change the settings of a web service, or begin a new version of it."""
    return answer(services.endpoints.update(workspace, name, **dict(body)))


@router.post("/workspaces/{workspace}/endpoints/{name}/traffic", Right.MANAGE_SERVICES, EndpointView)
def split_endpoint(workspace: str, name: str, body: TrafficSplit, services: ServicesOf) -> Response:
    """Set the percentages of versions; those that are not named keep the rest in proportion."""
    return answer(services.endpoints.split(workspace, name, body.weights))


@router.patch("/workspaces/{workspace}/endpoints/{name}/versions/{number}", Right.MANAGE_SERVICES, EndpointView)
def change_endpoint_version(
    workspace: str, name: str, number: int, body: VersionChange, services: ServicesOf
) -> Response:
    """Change the share or the labels of one version of a web service; its workers stay."""
    return answer(services.endpoints.change_version(workspace, name, number, **dict(body)))


@router.delete("/workspaces/{workspace}/endpoints/{name}/versions/{number}", Right.MANAGE_SERVICES, EndpointView)
def delete_endpoint_version(workspace: str, name: str, number: int, services: ServicesOf) -> Response:
    """Stop one version of a web service; the others get its requests."""
    return answer(services.endpoints.delete_version(workspace, name, number))


@router.delete("/workspaces/{workspace}/endpoints/{name}", Right.MANAGE_SERVICES, EndpointView)
def delete_endpoint(workspace: str, name: str, services: ServicesOf) -> Response:
    """Begin to delete a web service: it is gone when its last requests are answered."""
    return answer(services.endpoints.delete(workspace, name))


@router.get("/workspaces/{workspace}/endpoints/{name}/logs", Right.READ_WORKSPACE, ServiceLog)
def get_endpoint_logs(
    workspace: str,
    name: str,
    services: ServicesOf,
    lines: Annotated[int, Query(ge=1, le=100_000)] = 5000,
    version: int | None = None,
) -> Response:
    """Return the last lines that the replicas of a version wrote."""
    return answer(services.endpoints.logs(workspace, name, lines, version))


@router.post("/workspaces/{workspace}/endpoints/{name}/keys", Right.MANAGE_SERVICES, ServiceKeys)
def get_endpoint_keys(workspace: str, name: str, body: KeysRequest, services: ServicesOf) -> Response:
    """Return the keys of a web service; with `renew`, after one of them was replaced."""
    return answer(services.endpoints.keys(workspace, name, body.renew, body.value))


@router.post("/workspaces/{workspace}/endpoints/{name}/token", Right.MANAGE_SERVICES, ServiceToken)
def make_endpoint_token(workspace: str, name: str, services: ServicesOf) -> Response:
    """Return a token that opens a web service for some hours."""
    return answer(services.endpoints.token(workspace, name))


@router.post("/runs/{run}/tunnel", Right.SERVE_AS_NODE, status_code=101)
async def open_tunnel(run: str, request: Request, services: ServicesOf, attempt: int | None = None) -> Response:
    """Connect a replica of a web service, which runs on another machine, with the gateway (`Upgrade`)."""
    connection: HttpConnection | None = request.scope.get("state", {}).get(CONNECTION)
    if connection is None or request.headers.get("upgrade") != TUNNEL:
        raise InvalidInput("the request does not ask for another protocol", f"send Upgrade: {TUNNEL}")
    await asyncio.to_thread(services.endpoints.check_tunnel, run, attempt)
    connection.hand_over(lambda descriptor: services.endpoints.hand_over(run, descriptor))
    return Response(status_code=101)  # nobody gets it: the gateway answers
