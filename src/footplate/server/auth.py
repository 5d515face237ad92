"""Credentials become principals: every request comes from the owner of the server, a person, a run, or a signed link.

Over TCP a client sends a token: the server's own, which is the owner's, or that of a person or a service account. On
the Unix socket every process of the user is the owner, except those of runs (`peers`). A run sends its own token on
either. A browser proves its session (`browser`). A signed link reads one file of a run. Routes name the right that they
require (`rights`), and `authorization` checks whether the principal has it on the object of the request.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import parse_qsl

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from footplate.api import PREFIX as API_PREFIX
from footplate.api.links import PERSON, SIGNER, is_signed
from footplate.domain.access.people import ServerKeyView
from footplate.errors import FootplateError, NotAllowed
from footplate.server.browser import BrowserRules, SessionProof
from footplate.server.peers import STATE, Peer, own_login
from footplate.server.refusals import TRANSFERS, is_tracking, refuse
from footplate.server.rights import Right
from footplate.server.sign_in_limit import SignInLimit
from footplate.services.access.identities import Identity, SessionHolder
from footplate.services.access.person_tokens import PREFIX
from footplate.services.access.server_key import SERVER_KEY
from footplate.services.access.tokens import TokenHolder


@dataclass(frozen=True)
class Principal:
    """The sender of a request: a person, a run, the owner, or somebody who follows a link that one of them signed."""

    run: str | None = None
    workspace: str | None = None  # of the run
    only: Right | None = None  # the only right; a signature names the object
    identity: Identity | None = None
    name: str = ""  # shown as the author of what the principal makes
    credential: str | None = None  # the id of a token, or how a session began

    @property
    def is_owner(self) -> bool:
        """Whether this is the owner of the server, by its socket or its own token."""
        return self.run is None and self.identity is None and self.only is None

    @property
    def person(self) -> str | None:
        """The person or service account that owns what the principal makes; None for the owner of the server."""
        return self.identity.name if self.identity else None

    def may_read(self, workspace: str) -> bool:
        if self.run is not None:
            return workspace == self.workspace
        return self.identity is None or self.identity.role_in(workspace) is not None


READER = Principal(only=Right.READ_RUNS)
VISITOR = Principal(only=Right.SIGN_IN)
"""A browser without a session. It may only sign in."""

OWNER_NAME = "owner"
"""The name of a sender of the server's own token, which many people may have."""

SIGN_IN = f"{API_PREFIX}/session"


class _Tokens(Protocol):
    def recall(self, token: str) -> TokenHolder | None: ...

    def holder_of(self, token: str) -> TokenHolder | None: ...

    def token_of_signer(self, signer: str) -> str | None: ...


class _PersonTokens(Protocol):
    def recall(self, token: str) -> Identity | None: ...

    def holder_of(self, token: str) -> Identity | None: ...

    def holder_of_id(self, id: str) -> Identity | None: ...

    def link_key(self, id: str) -> str: ...


class _ServerKey(Protocol):
    def recall(self) -> bool | None: ...

    def is_accepted(self) -> bool: ...

    def switch(self, accepted: bool) -> ServerKeyView: ...


class _Sessions(Protocol):
    @property
    def cookie_name(self) -> str: ...

    def exist(self) -> bool: ...

    def recall(self, cookie: str, secret: str) -> SessionHolder | None: ...

    def holder_of(self, cookie: str, secret: str) -> SessionHolder | None: ...


class Credentials(Protocol):
    """The facts that tell who sends a request."""

    @property
    def home(self) -> Path: ...

    @property
    def tokens(self) -> _Tokens: ...

    @property
    def person_tokens(self) -> _PersonTokens: ...

    @property
    def server_key(self) -> _ServerKey: ...

    @property
    def sessions(self) -> _Sessions: ...


class Guard:
    """Finds the principal of every request of one listener.

    A listener with a `token` is on TCP, one with rules for a `browser` serves the page, and one without either is a
    Unix socket.
    """

    def __init__(
        self, app: ASGIApp, token: str | None, directory: Credentials, browser: BrowserRules | None = None
    ) -> None:
        self._app = app
        self._browser = browser
        self._token = None if token is None else token.encode()
        self._directory = directory
        self._sign_ins = SignInLimit()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                if _is_sign_in(scope):
                    self._sign_ins.check(_address(scope))
                    send = self._watch_sign_in(scope, send)
                scope["principal"] = await self._identify(scope)
            except FootplateError as error:
                await refuse(error, scope)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _watch_sign_in(self, scope: Scope, send: Send) -> Send:
        """Return a `send` that counts a refused attempt to sign in."""

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == NotAllowed.status:
                self._sign_ins.note_failure(_address(scope))
            await send(message)

        return watch

    async def _identify(self, scope: Scope) -> Principal:
        if self._browser is not None and (principal := await self._identify_browser(self._browser, scope)):
            return principal
        if str(scope["path"]).startswith(TRANSFERS):  # the handler checks the signature
            return READER
        token = _bearer(scope)
        if self._is_signed(scope, self._token.decode() if self._token and await self._accepts_server_key() else None):
            return READER
        if reader := await self._signer(scope):
            return reader
        if self._token is not None and hmac.compare_digest(token, self._token):
            if await self._accepts_server_key():
                return Principal(name=OWNER_NAME, credential=SERVER_KEY)
        elif token and (principal := await self._holder_of(token.decode("ascii", "replace"))):
            return principal
        if self._token is not None:
            raise NotAllowed(
                "this token is not valid here, or has expired" if token else "this server requires a token",
                "sign in with: footplate login, or set FOOTPLATE_TOKEN; the token of a run is valid until it has ended",
            )
        return self._owner_on_socket(scope, bool(token))

    async def _accepts_server_key(self) -> bool:
        accepted = self._directory.server_key.recall()
        return await asyncio.to_thread(self._directory.server_key.is_accepted) if accepted is None else accepted

    async def _holder_of(self, token: str) -> Principal | None:
        """Return the person or the run that a token belongs to."""
        tokens = self._directory.person_tokens
        identity = tokens.recall(token)
        if identity is None and token.startswith(PREFIX):
            identity = await asyncio.to_thread(tokens.holder_of, token)
        if identity is not None:
            return _person(identity, identity.credential)
        holder = await self._holder(token)
        return None if holder is None else Principal(holder.run, holder.workspace)

    async def _identify_browser(self, rules: BrowserRules, scope: Scope) -> Principal | None:
        """Return the principal of a request that a browser sends; None for one that proves itself otherwise.

        MLflow's clients send a token, which no page of another site can make a browser send.
        """
        proof = rules.proof(scope)
        if is_tracking(scope) and proof is None and (_bearer(scope) or str(scope["path"]).startswith(TRANSFERS)):
            rules.check_origin(scope)
            return None
        begins = _is_sign_in(scope) and not _bearer(scope)
        if not (rules.only_browsers or proof or begins):
            return None
        rules.check_origin(scope)
        if proof is not None and (holder := await self._session(proof)):
            return _person(holder.identity, holder.credential)
        if begins:
            return VISITOR
        raise NotAllowed(
            "this browser has no session here, or it has expired", "print a new link in a terminal with: footplate ui"
        )

    async def _session(self, proof: SessionProof) -> SessionHolder | None:
        sessions = self._directory.sessions
        return sessions.recall(*proof) or await asyncio.to_thread(sessions.holder_of, *proof)

    def _is_signed(self, scope: Scope, token: str | None) -> bool:
        """Whether this is a link to one file of a run that the holder of the token signed."""
        text = bytes(scope["query_string"])
        if token is None or b"signature=" not in text or scope["method"] != "GET":
            return False
        return is_signed(str(scope["path"]), dict(parse_qsl(text.decode("latin-1"))), token)

    async def _signer(self, scope: Scope) -> Principal | None:
        """Return the run or the person who signed this link, if one did, with the right to read runs only."""
        text = bytes(scope["query_string"])
        if SIGNER.encode() not in text:
            return None
        signer = dict(parse_qsl(text.decode("latin-1"))).get(SIGNER, "")
        if signer.startswith(PERSON):
            return await asyncio.to_thread(self._person_who_signed, scope, signer[len(PERSON) :])
        token = self._directory.tokens.token_of_signer(signer)
        holder = await self._holder(token) if token and self._is_signed(scope, token) else None
        return holder and Principal(holder.run, holder.workspace, Right.READ_RUNS)

    def _person_who_signed(self, scope: Scope, token_id: str) -> Principal | None:
        tokens = self._directory.person_tokens
        identity = tokens.holder_of_id(token_id) if self._is_signed(scope, tokens.link_key(token_id)) else None
        return identity and Principal(
            only=Right.READ_RUNS, identity=identity, name=identity.name, credential=identity.credential
        )

    async def _holder(self, token: str) -> TokenHolder | None:
        holder = self._directory.tokens.recall(token)
        return holder or await asyncio.to_thread(self._directory.tokens.holder_of, token)

    def _owner_on_socket(self, scope: Scope, sent_token: bool) -> Principal:
        peer: Peer | None = scope["state"].get(STATE)
        refusal = "its process is unknown" if peer is None else peer.refusal(str(self._directory.home))
        if peer is None or refusal is not None:
            end = "its token is not valid, or has expired with its run" if sent_token else "it sent no token"
            raise NotAllowed(
                f"this request does not come from the owner of the server: {refusal}, and {end}",
                "processes of a run need its FOOTPLATE_ENDPOINT and FOOTPLATE_TOKEN: pass both on",
            )
        return Principal(name=peer.login)


def _person(identity: Identity | None, credential: str | None) -> Principal:
    """Return a person, or the owner for None."""
    if identity is None:
        return Principal(name=OWNER_NAME if credential == SERVER_KEY else own_login(), credential=credential)
    return Principal(identity=identity, name=identity.name, credential=credential)


def _is_sign_in(scope: Scope) -> bool:
    return scope["method"] == "POST" and scope["path"] == SIGN_IN


def _address(scope: Scope) -> str:
    """Return the address of the connection's other end. Headers such as X-Forwarded-For prove nothing."""
    return str(scope["client"][0]) if scope["client"] else "socket"


def _bearer(scope: Scope) -> bytes:
    for name, value in scope["headers"]:
        if name == b"authorization":
            kind, _, token = bytes(value).partition(b" ")
            if kind.lower() == b"bearer":
                return token.strip()
            if kind.lower() == b"basic":
                return _password(token)
    return b""


def _password(credentials: bytes) -> bytes:
    """Return the password of Basic authentication, which is a token; the name of the user means nothing."""
    try:
        return base64.b64decode(credentials.strip(), validate=True).partition(b":")[2].strip()
    except binascii.Error:
        return b""
