from __future__ import annotations

from fastapi import Request, Response

from footplate.domain.access.people import NewToken, TokenView
from footplate.errors import InvalidInput, NotAllowed
from footplate.server.audit import note_detail
from footplate.server.auth import Principal
from footplate.server.openapi import Page, Router
from footplate.server.responses import answer, answer_list
from footplate.server.rights import Right
from footplate.server.routes.parsing import Body, PrincipalOf, ServicesOf

router = Router("tokens")


class TokenRequest(Body):
    label: str
    person: str | None = None
    expires: float | None = None
    workspace: str | None = None
    read_only: bool = False


@router.get("/tokens", Right.READ_TOKENS, Page(TokenView))
def list_tokens(services: ServicesOf, principal: PrincipalOf, person: str | None = None) -> Response:
    """List one's own tokens. Owners of the server list those of a `person`, or all."""
    identity = principal.identity
    if identity is not None and not identity.owns_server:
        _check_own(principal, person or identity.name)
        person = identity.name
    return answer_list(services.person_tokens.list(person))


@router.post("/tokens", Right.MANAGE_TOKENS, NewToken, status_code=201)
def create_token(body: TokenRequest, request: Request, services: ServicesOf, principal: PrincipalOf) -> Response:
    """Create a token, which is returned this once. It ends no later than the token that creates it."""
    person = body.person or principal.person
    if person is None:
        raise InvalidInput("a token needs a person", "name one: footplate tokens create --for NAME")
    created = services.person_tokens.create(
        person, body.label, body.expires, body.workspace, body.read_only, principal.identity
    )
    note_detail(request, f"{created.view.id} of {person}")
    return answer(created, 201)


@router.delete("/tokens/{token}", Right.MANAGE_TOKENS, status_code=204)
def revoke_token(token: str, services: ServicesOf, principal: PrincipalOf) -> None:
    """Revoke a token by its id, at once, and end the sessions that began with it."""
    view = services.person_tokens.get(token)
    identity = principal.identity
    if identity is not None and not identity.owns_server:
        _check_own(principal, view.person)
        if identity.is_limited and (identity.token is None or identity.token.id != view.id):
            raise NotAllowed("a limited token revokes only itself", "use a token without limits")
    services.person_tokens.revoke(token)


def _check_own(principal: Principal, person: str) -> None:
    if person != principal.person:
        raise NotAllowed(f"{principal.name} may not see the tokens of {person!r}", "ask an owner of the server")
