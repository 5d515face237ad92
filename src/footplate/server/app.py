"""The HTTP application: the endpoints of `routes/` under /api/v1, one form of error, and two endpoints of its own.

One application serves one listener. Without a token it belongs on the Unix socket, where the process of the client
tells who it is; with a token every request must carry it. The token of a run works on both. So requests of the two
listeners cannot be confused.
"""

from __future__ import annotations

import errno
import logging
import os
import secrets
import time
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from footplate import __version__
from footplate.api import PREFIX
from footplate.domain.access.people import ServerKeyView
from footplate.domain.replies import ServerInfo, ServerStopping
from footplate.errors import Broken, FootplateError, InvalidInput, NotFound, OutOfSpace
from footplate.server.audit import Recorder, note_detail
from footplate.server.auth import Credentials, Guard
from footplate.server.authorization import Directory
from footplate.server.body_limit import BodyLimit
from footplate.server.browser import AnswerHeaders, BrowserRules
from footplate.server.gate import Gate, GateMiddleware
from footplate.server.hub import Hub
from footplate.server.mlflow.application import MlflowMiddleware
from footplate.server.openapi import Router, describe, operation_id
from footplate.server.page_files import PageFiles
from footplate.server.refusals import refuse
from footplate.server.responses import answer, answer_error
from footplate.server.rights import Right
from footplate.server.routes import routers
from footplate.server.routes.parsing import Body

log = logging.getLogger(__name__)


class PageOpener(Protocol):
    """Opens the page of this server for browsers."""

    @property
    def address(self) -> str: ...

    async def open(self) -> str: ...


class Backend(Credentials, Directory, Recorder, Protocol):
    """The services as the application itself uses them; the endpoints use more."""

    def active_runs(self) -> int: ...


@dataclass(frozen=True)
class About:
    """The constant part of the response to `GET /server`."""

    version: str = __version__
    pid: int = field(default_factory=os.getpid)
    started: float = field(default_factory=time.time)
    database: str = ""


def create_app(
    services: Backend,
    hub: Hub,
    token: str | None,
    *,
    gate: Gate | None = None,
    about: About | None = None,
    browser: BrowserRules | None = None,
    page: PageOpener | None = None,
) -> FastAPI:
    app = FastAPI(
        title="Footplate",
        version=__version__,
        openapi_url="/api/openapi.json",
        docs_url=None,  # both documentation pages load scripts from another host
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=operation_id,
    )
    app.state.services = services
    app.state.hub = hub
    app.state.gate = gate or Gate()
    app.state.about = about or About()
    app.state.page = page
    app.state.trusted = token is None and browser is None
    nouns = [_own, *routers()]
    for router in nouns:
        app.include_router(router, prefix=PREFIX)
    app.add_exception_handler(FootplateError, _on_footplate_error)
    app.add_exception_handler(RequestValidationError, _on_validation_error)
    app.add_exception_handler(HTTPException, _on_http_error)
    # The middleware added last is the first that a request meets.
    app.add_middleware(MlflowMiddleware, services=services)
    app.add_middleware(Guard, token=token, directory=services, browser=browser)
    app.add_middleware(BodyLimit, prefix=PREFIX)
    app.add_middleware(FaultMiddleware)
    app.add_middleware(GateMiddleware, gate=app.state.gate)
    if browser is not None:
        app.add_middleware(AnswerHeaders)
        app.add_middleware(PageFiles, rules=browser)
    app.openapi = lambda: describe(app, nouns, PREFIX)  # pyright: ignore[reportAttributeAccessIssue]  FastAPI's documented way
    return app


# ── The server's own endpoints ────────────────────────────────────────────────────────────────────────────────────────

_own = Router("server")


@_own.get("/server", Right.READ_SERVER, ServerInfo)
def get_server(request: Request) -> Response:
    """Return a description of the server."""
    state = request.app.state
    services, about = cast(Backend, state.services), cast(About, state.about)
    return answer(
        ServerInfo(
            version=about.version,
            pid=about.pid,
            started=about.started,
            home=str(services.home),
            blobs=str(services.home / "blobs") if state.trusted else None,
            database=about.database,
            active_runs=services.active_runs(),
            page=state.page.address if state.page else None,
        )
    )


class KeySwitch(Body):
    accepted: bool


@_own.put("/server/key", Right.MANAGE_SERVER, ServerKeyView)
def switch_server_key(body: KeySwitch, request: Request) -> Response:
    """Accept the server's own token, the emergency key of its owner, or refuse it and end its sessions."""
    note_detail(request, "accepted" if body.accepted else "refused")
    return answer(cast(Backend, request.app.state.services).server_key.switch(body.accepted))


@_own.post("/server/stop", Right.MANAGE_SERVER, ServerStopping, status_code=202)
async def stop_server(request: Request) -> Response:
    """Stop the server. Active runs continue; the next server resumes them."""
    cast(Gate, request.app.state.gate).stop()
    return answer(ServerStopping(True), 202)


# ── Errors ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _on_footplate_error(_: Request, error: Exception) -> Response:
    return answer_error(cast(FootplateError, error))


async def _on_validation_error(_: Request, error: Exception) -> Response:
    first = cast("dict[str, Any]", cast(RequestValidationError, error).errors()[0])
    name = ".".join(str(part) for part in first["loc"])
    value = repr(first.get("input"))
    value = value if len(value) <= 80 else value[:77] + "..."
    return answer_error(InvalidInput(f"{name} is {value}: {first['msg']}", f"correct {name}", field=name))


async def _on_http_error(request: Request, error: Exception) -> Response:
    status = cast(HTTPException, error).status_code
    what = f"{request.method} {request.url.path}"
    if status == 404:
        return answer_error(NotFound(f"there is no {what} here", "see the paths in /api/openapi.json"))
    return answer_error(InvalidInput(f"{what}: {cast(HTTPException, error).detail}", "see /api/openapi.json"), status)


class FaultMiddleware:
    """Reports an unexpected error only by a number, under which the log holds the details."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def send_and_note(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, send_and_note)
        except ClientDisconnect:
            log.info("%s %s: the client closed the connection", scope.get("method"), scope.get("path"))
        except Exception as error:
            if started:  # half a response is out: only closing the connection informs the client
                raise
            await refuse(_explain(error, scope), scope)(scope, receive, send)


def _explain(error: Exception, scope: Scope) -> FootplateError:
    if isinstance(error, FootplateError):
        return error
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        log.error("%s %s: %s", scope.get("method"), scope.get("path"), error)
        return OutOfSpace("the server's disk is full; nothing was changed", "free some space, then send it again")
    if isinstance(error, RecursionError):
        return InvalidInput("the JSON of this request is nested too deeply", "send a flatter structure")
    incident = secrets.token_hex(4)
    log.error(
        "incident %s: %s %s",
        incident,
        scope.get("method"),
        scope.get("path"),
        exc_info=error,
        extra={"incident": incident},
    )
    return Broken(
        f"the server has an internal error (incident {incident})",
        f"the log has the details: footplate server logs, look for {incident}",
        incident=incident,
    )
