"""Authorization over TCP. On the Unix socket the file mode decides, and this module is not involved.

The server's own token may do everything, and a link that is signed with it reads one file of a run. The token of a run
reaches that run and its descendants, blobs, reads of the run's workspace, and the files of built-in datastores that its
inputs and outputs name; it may start children of these runs and register models and datasets for them, and nothing
else.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import re
from typing import Any, Protocol
from urllib.parse import parse_qsl

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from footplate.api.links import is_signed
from footplate.domain.records import RunView
from footplate.errors import FootplateError, NotAllowed, NotFound
from footplate.server.responses import answer_error

_OWN = re.compile(r"/runs/([^/]+)(?:/.*)?", re.DOTALL)  # a file name may contain a line break
_RUN_FILE = re.compile(r"/runs/[^/]+/files/.+", re.DOTALL)
_BLOBS = re.compile(r"/blobs/[^/]+")
_WORKSPACE = re.compile(r"/workspaces/([^/]+)(/.*)?", re.DOTALL)
_STORE_FILES = re.compile(r"/datastores/([^/]+)/files(?:/|$)")
MAX_SPEC = 16 << 20


class _Tokens(Protocol):
    def scope_of(self, token: str) -> str | None: ...


class _Runs(Protocol):
    def view(self, run: str) -> RunView: ...


class _Datastores(Protocol):
    def access_for_run(self, run: str, name: str) -> object: ...


class Directory(Protocol):
    """The facts that authorization needs: the owner of a token, the parents of a run, and the data of a run."""

    @property
    def tokens(self) -> _Tokens: ...

    @property
    def runs(self) -> _Runs: ...

    @property
    def datastores(self) -> _Datastores: ...


class Guard:
    """Checks every request of a TCP listener."""

    def __init__(self, app: ASGIApp, token: str, prefix: str, directory: Directory) -> None:
        self._app = app
        self._token = token.encode()
        self._prefix = prefix
        self._directory = directory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        try:
            receive = await self._admit(scope, receive)
        except FootplateError as error:
            await answer_error(error)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _admit(self, scope: Scope, receive: Receive) -> Receive:
        if self._is_signed(scope):
            return receive
        token = _bearer(scope)
        if hmac.compare_digest(token, self._token):
            return receive
        owner = await asyncio.to_thread(self._directory.tokens.scope_of, token.decode("ascii", "replace"))
        kind, _, run = (owner or "").partition(":")
        if kind != "run" or not run:
            raise NotAllowed("this token is not valid here, or has expired", "look at FOOTPLATE_TOKEN")
        return await self._admit_run(run, scope, receive)

    def _is_signed(self, scope: Scope) -> bool:
        """Tell whether this reads a file of a run by a signed link."""
        path = str(scope["path"])
        if scope["method"] != "GET" or not _RUN_FILE.fullmatch(path[len(self._prefix) :]):
            return False
        query = dict(parse_qsl(bytes(scope.get("query_string") or b"").decode("latin-1")))
        return "signature" in query and is_signed(path, query, self._token.decode())

    async def _admit_run(self, run: str, scope: Scope, receive: Receive) -> Receive:
        method, path = str(scope["method"]), str(scope["path"])[len(self._prefix) :]
        if not str(scope["path"]).startswith(self._prefix):
            raise _beyond(run, scope)
        own, workspace = _OWN.fullmatch(path), _WORKSPACE.fullmatch(path)
        if _BLOBS.fullmatch(path) or (own and await asyncio.to_thread(self._is_within, own[1], run)):
            return receive
        if not workspace or workspace[1] != (await asyncio.to_thread(self._directory.runs.view, run)).workspace:
            raise _beyond(run, scope)
        if files := _STORE_FILES.match(workspace[2] or ""):
            await asyncio.to_thread(self._directory.datastores.access_for_run, run, files[1])
            return receive
        if method in ("GET", "HEAD"):
            return receive
        if method != "POST" or workspace[2] not in _NAMES_ITS_RUN:
            raise _beyond(run, scope)
        body = await _read(receive)
        if not await asyncio.to_thread(self._is_within, _NAMES_ITS_RUN[workspace[2]](body), run):
            raise _beyond(run, scope)
        return _again(body, receive)

    def _is_within(self, candidate: str | None, run: str) -> bool:
        """Tell whether `candidate` is the run or one of its descendants."""
        seen: set[str] = set()
        while candidate is not None and candidate not in seen:
            if candidate == run:
                return True
            seen.add(candidate)
            try:
                candidate = self._directory.runs.view(candidate).parent
            except NotFound:
                return False
        return False


def _bearer(scope: Scope) -> bytes:
    for name, value in scope["headers"]:
        if name == b"authorization":
            kind, _, token = bytes(value).partition(b" ")
            if kind.lower() == b"bearer" and token.strip():
                return token.strip()
    raise NotAllowed("this server requires a token", "set FOOTPLATE_TOKEN to the server's token")


def _beyond(run: str, scope: Scope) -> NotAllowed:
    return NotAllowed(
        f"the token of run {run} does not reach {scope['method']} {scope['path']}",
        "a run's token reaches that run, its children, models and datasets, blobs and reads of its workspace",
    )


def _parent(body: bytes) -> str | None:
    return _text_at(body, "spec", "parent")


def _own_run(body: bytes) -> str | None:
    return _text_at(body, "run")


def _text_at(body: bytes, *keys: str) -> str | None:
    try:
        value: Any = json.loads(body)
        for key in keys:
            value = value[key]
    except (ValueError, KeyError, TypeError):
        return None
    return value if isinstance(value, str) else None


_NAMES_ITS_RUN = {"/runs": _parent, "/models": _own_run, "/datasets": _own_run}
"""Objects that a run may create in its workspace, and the field that names the run: children, models, datasets."""


async def _read(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MAX_SPEC:
            raise NotAllowed(f"a run's description of more than {MAX_SPEC} bytes", "put large things into its files")
        if message["type"] != "http.request" or not message.get("more_body", False):
            return bytes(body)


def _again(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that first repeats the body that was already read, then continues."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
