from __future__ import annotations

from fastapi import APIRouter, Response

from footplate.domain.replies import Secret, SecretName
from footplate.server.openapi import Page, Route
from footplate.server.responses import answer, answer_list
from footplate.server.rights import Right, requires
from footplate.server.routes.parsing import Body, ServicesOf

router = APIRouter(tags=["secrets"], route_class=Route)


class SecretValue(Body):
    value: str


@router.put("/workspaces/{workspace}/secrets/{name}", status_code=204)
@requires(Right.WRITE_SECRETS)
def put_secret(workspace: str, name: str, body: SecretValue, services: ServicesOf) -> None:
    """Store a secret, encrypted."""
    services.secrets.put(workspace, name, body.value)


@router.get("/workspaces/{workspace}/secrets", response_model=Page(SecretName))
@requires(Right.READ_WORKSPACE)
def list_secrets(workspace: str, services: ServicesOf) -> Response:
    """List the names of the secrets, never their values."""
    return answer_list(map(SecretName, services.secrets.list(workspace)))


@router.get("/workspaces/{workspace}/secrets/{name}", response_model=Secret)
@requires(Right.READ_SECRETS)
def get_secret(workspace: str, name: str, services: ServicesOf) -> Response:
    """Return the value of a secret."""
    return answer(Secret(name, services.secrets.get(workspace, name)))


@router.delete("/workspaces/{workspace}/secrets/{name}", status_code=204)
@requires(Right.WRITE_SECRETS)
def delete_secret(workspace: str, name: str, services: ServicesOf) -> None:
    """Delete a secret."""
    services.secrets.delete(workspace, name)
