from __future__ import annotations

from fastapi import Response

from footplate.domain.replies import Secret, SecretName
from footplate.server.openapi import Page, Router
from footplate.server.responses import answer, answer_list
from footplate.server.rights import Right
from footplate.server.routes.parsing import Body, ServicesOf

router = Router("secrets")


class SecretValue(Body):
    value: str


@router.put("/workspaces/{workspace}/secrets/{name}", Right.WRITE_SECRETS, status_code=204)
def put_secret(workspace: str, name: str, body: SecretValue, services: ServicesOf) -> None:
    """Store a secret, encrypted."""
    services.secrets.put(workspace, name, body.value)


@router.get("/workspaces/{workspace}/secrets", Right.READ_WORKSPACE, Page(SecretName))
def list_secrets(workspace: str, services: ServicesOf) -> Response:
    """List the names of the secrets, never their values."""
    return answer_list(map(SecretName, services.secrets.list(workspace)))


@router.get("/workspaces/{workspace}/secrets/{name}", Right.READ_SECRETS, Secret)
def get_secret(workspace: str, name: str, services: ServicesOf) -> Response:
    """Return the value of a secret."""
    return answer(Secret(name, services.secrets.get(workspace, name)))


@router.delete("/workspaces/{workspace}/secrets/{name}", Right.WRITE_SECRETS, status_code=204)
def delete_secret(workspace: str, name: str, services: ServicesOf) -> None:
    """Delete a secret."""
    services.secrets.delete(workspace, name)
