"""Principals: every request comes from the owner of the server, from a run, or from a link that the owner signed.

Over TCP the owner sends the server's token, or the owner's browser proves its session (`browser`). On the Unix socket
the owner is every process of the user, except those of runs (`peers`). A run sends its own token on either. A signed
link reads one file of a run. Routes name the right that they require (`rights`), and `authorize` checks whether the
principal has it on the object of the request.
"""

from __future__ import annotations

import asyncio
import hmac
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import parse_qsl

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from footplate.api import PREFIX
from footplate.api.links import SIGNER, is_signed
from footplate.domain.records import RunView
from footplate.errors import FootplateError, NotAllowed, NotFound
from footplate.server.browser import BrowserRules, SessionProof
from footplate.server.peers import STATE, Peer
from footplate.server.responses import answer_error
from footplate.server.rights import Reach, Right
from footplate.services.access.tokens import TokenHolder
from footplate.services.run_limits import are_related


@dataclass(frozen=True)
class Principal:
    """The sender of a request: a run, the owner, or somebody who follows a link that one of them signed."""

    run: str | None = None
    workspace: str | None = None
    only: Right | None = None  # the only right; a signature names the object


OWNER = Principal()
READER = Principal(only=Right.READ_RUNS)
VISITOR = Principal(only=Right.SIGN_IN)
"""A browser without a session. It may only redeem a code."""

SIGN_IN = f"{PREFIX}/session"


class _Tokens(Protocol):
    def recall(self, token: str) -> TokenHolder | None: ...

    def holder_of(self, token: str) -> TokenHolder | None: ...

    def token_of_signer(self, signer: str) -> str | None: ...


class _Sessions(Protocol):
    @property
    def cookie_name(self) -> str: ...

    def exist(self) -> bool: ...

    def recall(self, cookie: str, secret: str) -> bool: ...

    def is_valid(self, cookie: str, secret: str) -> bool: ...


class _Runs(Protocol):
    def view(self, run: str) -> RunView: ...


class _Datastores(Protocol):
    def access_for_run(self, run: str, name: str) -> object: ...


class Directory(Protocol):
    """The facts that authorization needs: the holder of a token, the parents of a run, and the data of a run."""

    @property
    def home(self) -> Path: ...

    @property
    def tokens(self) -> _Tokens: ...

    @property
    def sessions(self) -> _Sessions: ...

    @property
    def runs(self) -> _Runs: ...

    @property
    def datastores(self) -> _Datastores: ...


# ── Who sends a request ───────────────────────────────────────────────────────────────────────────────────────────────


class Guard:
    """Finds the principal of every request of one listener.

    A listener with a `token` is on TCP, one with rules for a `browser` serves the page, and one without either is a
    Unix socket.
    """

    def __init__(
        self, app: ASGIApp, token: str | None, directory: Directory, browser: BrowserRules | None = None
    ) -> None:
        self._app = app
        self._browser = browser
        self._token = None if token is None else token.encode()
        self._directory = directory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                scope["principal"] = await self._identify(scope)
            except FootplateError as error:
                await answer_error(error)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _identify(self, scope: Scope) -> Principal:
        if self._browser is not None and (principal := await self._identify_browser(self._browser, scope)):
            return principal
        token = _bearer(scope)
        if self._is_signed(scope, self._token.decode() if self._token else None):
            return READER
        token_of_run = self._find_signing_token(scope)
        if token_of_run is not None and (reader := await self._holder(token_of_run)):
            return Principal(reader.run, reader.workspace, Right.READ_RUNS)
        if self._token is not None and hmac.compare_digest(token, self._token):
            return OWNER
        holder = await self._holder(token.decode("ascii", "replace")) if token else None
        if holder is not None:
            return Principal(holder.run, holder.workspace)
        if self._token is not None:
            raise NotAllowed(
                "this token is not valid here, or has expired" if token else "this server requires a token",
                "set FOOTPLATE_TOKEN to the server's token; the token of a run is valid until the run has ended",
            )
        self._check_peer(scope, bool(token))
        return OWNER

    async def _identify_browser(self, rules: BrowserRules, scope: Scope) -> Principal | None:
        """Return the principal of a request that a browser sends; None for one that proves itself otherwise."""
        proof = rules.proof(scope)
        begins = scope["method"] == "POST" and scope["path"] == SIGN_IN and not _bearer(scope)
        if not (rules.only_browsers or proof or begins):
            return None
        rules.check_origin(scope)
        if proof is not None and await self._is_valid(proof):
            return OWNER
        if begins:
            return VISITOR
        raise NotAllowed(
            "this browser has no session here, or it has expired", "print a new link in a terminal with: footplate ui"
        )

    async def _is_valid(self, proof: SessionProof) -> bool:
        sessions = self._directory.sessions
        return sessions.recall(*proof) or await asyncio.to_thread(sessions.is_valid, *proof)

    def _is_signed(self, scope: Scope, token: str | None) -> bool:
        """Whether this is a link to one file of a run that the holder of the token signed."""
        text = bytes(scope["query_string"])
        if token is None or b"signature=" not in text or scope["method"] != "GET":
            return False
        return is_signed(str(scope["path"]), dict(parse_qsl(text.decode("latin-1"))), token)

    def _find_signing_token(self, scope: Scope) -> str | None:
        """Return the token of the run that signed this link, if one did."""
        query = dict(parse_qsl(bytes(scope["query_string"]).decode("latin-1")))
        token = self._directory.tokens.token_of_signer(query.get(SIGNER, "")) if SIGNER in query else None
        return token if self._is_signed(scope, token) else None

    async def _holder(self, token: str) -> TokenHolder | None:
        holder = self._directory.tokens.recall(token)
        return holder or await asyncio.to_thread(self._directory.tokens.holder_of, token)

    def _check_peer(self, scope: Scope, sent_token: bool) -> None:
        peer: Peer | None = scope["state"].get(STATE)
        refusal = "its process is unknown" if peer is None else peer.refusal(str(self._directory.home))
        if refusal is not None:
            end = "its token is not valid, or has expired with its run" if sent_token else "it sent no token"
            raise NotAllowed(
                f"this request does not come from the owner of the server: {refusal}, and {end}",
                "processes of a run need its FOOTPLATE_ENDPOINT and FOOTPLATE_TOKEN: pass both on",
            )


def _bearer(scope: Scope) -> bytes:
    for name, value in scope["headers"]:
        if name == b"authorization":
            kind, _, token = bytes(value).partition(b" ")
            if kind.lower() == b"bearer":
                return token.strip()
    return b""


# ── What it may do ────────────────────────────────────────────────────────────────────────────────────────────────────


async def authorize(request: Request, right: Right) -> None:
    """Raise NotAllowed unless the principal of this request has the right on the objects in its path."""
    principal: Principal = request.scope["principal"]
    if principal.only not in (None, right):
        raise NotAllowed("a signed link reads one file of a run", "set FOOTPLATE_TOKEN for everything else")
    if principal.run is None:
        return
    objects = request.path_params
    if not await _reaches(principal, right.reach, objects, request.app.state.services):
        raise NotAllowed(
            f"the token of run {principal.run} does not reach {request.method} {request.url.path}: it needs the right "
            f"to {right.meaning}",
            f"a run has this right on {right.reach.value}",
        )


async def _reaches(principal: Principal, reach: Reach, objects: dict[str, str], directory: Directory) -> bool:
    run = principal.run or ""
    other = str(objects.get("run", ""))
    if reach is Reach.ANYTHING:
        return True
    if reach in (Reach.WORKSPACE, Reach.STORES):
        if objects.get("workspace") != principal.workspace:
            return False
        if reach is Reach.STORES:
            await asyncio.to_thread(directory.datastores.access_for_run, run, objects["name"])
        return True
    if reach is Reach.NOTHING or not other:
        return False
    if other == run or reach is Reach.ITSELF:
        return other == run
    if reach is Reach.WORKSPACE_RUNS:
        return await asyncio.to_thread(_workspace_of, other, directory) == principal.workspace
    return await asyncio.to_thread(are_related, run, other, directory.runs.view)


def _workspace_of(run: str, directory: Directory) -> str | None:
    try:
        return directory.runs.view(run).workspace
    except NotFound:
        return None
