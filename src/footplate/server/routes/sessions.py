from __future__ import annotations

import time

from fastapi import Request, Response

from footplate.domain.replies import PageLink, SessionView
from footplate.errors import InvalidInput, NotAllowed
from footplate.server.auth import Principal
from footplate.server.openapi import Router
from footplate.server.peers import own_login
from footplate.server.responses import answer
from footplate.server.rights import Right
from footplate.server.routes.parsing import Body, PrincipalOf, ServicesOf
from footplate.services.access.sessions import LINK

router = Router("sessions")


class SignIn(Body):
    code: str | None = None


@router.post("/server/page", Right.MANAGE_SERVER, PageLink)
async def open_page(request: Request, services: ServicesOf) -> Response:
    """Open the page of this server, and return its address with a code for one session."""
    opener = request.app.state.page
    if opener is None:
        raise InvalidInput("this server has no page", "start it with: footplate server start")
    return answer(PageLink(await opener.open(), services.sessions.invite()))


@router.post("/session", Right.SIGN_IN, SessionView, status_code=201)
def begin_session(body: SignIn, request: Request, principal: PrincipalOf, services: ServicesOf) -> Response:
    """Begin the session of a browser, with a one-time code or a token. It ends the session that the browser had."""
    name = services.sessions.cookie_name
    if body.code is not None:
        session = services.sessions.redeem(body.code)
        request.scope["principal"] = Principal(name=own_login(), credential=LINK)
    elif principal.is_owner or (principal.identity is not None and principal.identity.token is not None):
        session = services.sessions.begin(principal.identity, principal.credential or LINK)
    else:
        raise NotAllowed("a session needs a code or a token", "print a link with: footplate ui")
    before = request.cookies.get(name)
    if before is not None:
        services.sessions.end(before)
    response = answer(SessionView(name, session.secret, session.expires), 201)
    response.set_cookie(
        name,
        session.cookie,
        max_age=int(session.expires - time.time()),
        path="/api",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return response


@router.delete("/session", Right.SIGN_IN, status_code=204)
def end_session(request: Request, services: ServicesOf) -> None:
    """End the session of the browser that sends this."""
    cookie = request.cookies.get(services.sessions.cookie_name)
    if cookie is not None:
        services.sessions.end(cookie)
