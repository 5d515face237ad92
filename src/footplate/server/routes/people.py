from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request, Response

from footplate.domain.access.people import EVERYWHERE, PERSON, PersonView, RoleView, WhoAmI
from footplate.server.audit import note_detail
from footplate.server.auth import Principal
from footplate.server.authorization import author_of
from footplate.server.openapi import Page, Router
from footplate.server.responses import answer, answer_list
from footplate.server.rights import Right
from footplate.server.routes.parsing import Body, PrincipalOf, ServicesOf
from footplate.services import Services

router = Router("people")


class NewPerson(Body):
    name: str
    kind: str = PERSON
    display_name: str | None = None
    email: str | None = None
    groups: tuple[str, ...] = ()


class PersonChange(Body):
    display_name: str | None = None
    email: str | None = None
    groups: tuple[str, ...] | None = None
    disabled: bool | None = None


class NewRole(Body):
    kind: str
    name: str
    role: str


@router.get("/whoami", Right.READ_SERVER, WhoAmI)
def get_principal(services: ServicesOf, principal: PrincipalOf) -> Response:
    """Return who sends this request, and the roles that the credential leaves."""
    return answer(_describe(principal, services))


def _describe(principal: Principal, services: Services) -> WhoAmI:
    identity = principal.identity
    if identity is not None:
        token = identity.token
        key = services.person_tokens.link_key(token.id) if token else None
        return WhoAmI(identity.name, identity.person.kind, dict(identity.roles), identity.person.groups, token, key)
    if principal.run is not None:
        return WhoAmI(author_of(principal, services).created_by, "run", token=None)
    return WhoAmI(principal.name, "owner", {EVERYWHERE: "owner"})


@router.get("/people", Right.READ_PEOPLE, Page(PersonView))
def list_people(services: ServicesOf) -> Response:
    """List people and service accounts by name."""
    return answer_list(services.people.list())


@router.post("/people", Right.MANAGE_PEOPLE, PersonView, status_code=201)
def add_person(body: NewPerson, request: Request, services: ServicesOf) -> Response:
    """Add a person or a service account. It has no role yet."""
    note_detail(request, f"{body.kind} {body.name}")
    return answer(services.people.add(**dict(body)), 201)


@router.patch("/people/{name}", Right.MANAGE_PEOPLE, PersonView)
def change_person(name: str, body: PersonChange, request: Request, services: ServicesOf) -> Response:
    """Change the details of a person, disable it or enable it again. A disabled one can do nothing."""
    note_detail(request, ", ".join(f"{key}={value!r}" for key, value in body if value is not None))
    return answer(services.people.change(name, **dict(body)))


@router.get("/roles", Right.READ_PEOPLE, Page(RoleView))
def list_server_roles(services: ServicesOf) -> Response:
    """List the roles that hold in all workspaces."""
    return answer_list(services.people.roles_in(EVERYWHERE))


@router.put("/roles", Right.MANAGE_PEOPLE, RoleView)
def grant_server_role(body: NewRole, request: Request, services: ServicesOf) -> Response:
    """Give a user or a group a role in all workspaces. An owner there is an owner of the server."""
    _note_role(request, body.kind, body.name, body.role)
    return answer(services.people.grant(EVERYWHERE, body.kind, body.name, body.role))


@router.delete("/roles", Right.MANAGE_PEOPLE, status_code=204)
def withdraw_server_role(
    kind: Annotated[str, Query()], name: Annotated[str, Query()], request: Request, services: ServicesOf
) -> None:
    """Withdraw a role that holds in all workspaces."""
    _note_role(request, kind, name, "no role")
    services.people.withdraw(EVERYWHERE, kind, name)


@router.get("/workspaces/{workspace}/roles", Right.READ_WORKSPACE, Page(RoleView))
def list_roles(workspace: str, services: ServicesOf) -> Response:
    """List the roles that count in a workspace, also those that hold in all."""
    return answer_list(services.people.roles_in(workspace))


@router.put("/workspaces/{workspace}/roles", Right.MANAGE_ROLES, RoleView)
def grant_role(workspace: str, body: NewRole, request: Request, services: ServicesOf) -> Response:
    """Give a user or a group a role in a workspace, in place of the one that it has there."""
    _note_role(request, body.kind, body.name, body.role)
    return answer(services.people.grant(workspace, body.kind, body.name, body.role))


@router.delete("/workspaces/{workspace}/roles", Right.MANAGE_ROLES, status_code=204)
def withdraw_role(
    workspace: str, kind: Annotated[str, Query()], name: Annotated[str, Query()], request: Request, services: ServicesOf
) -> None:
    """Withdraw a role in a workspace."""
    _note_role(request, kind, name, "no role")
    services.people.withdraw(workspace, kind, name)


def _note_role(request: Request, kind: str, name: str, role: str) -> None:
    note_detail(request, f"{kind} {name}: {role}")
