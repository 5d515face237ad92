"""MLflow's protocol as an application below /mlflow: from an HTTP request to a handler, and back.

It is plain ASGI, because a framework would take longer over a request than its handler does. Handlers run in threads.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any, cast
from urllib.parse import parse_qs

from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from footplate.domain.records import FileView
from footplate.errors import FootplateError, NotFound
from footplate.server.auth import Principal
from footplate.server.mlflow import about, artifact_paths, artifacts, fields, routes
from footplate.server.mlflow.bodies import receive_body, receive_file, send_file
from footplate.server.mlflow.call import Call
from footplate.server.mlflow.errors import MlflowError, missing, render, translate
from footplate.server.mlflow.permits import Permit
from footplate.server.mlflow.routes import LIST_FIELDS, Route
from footplate.server.mlflow.transfers import Transfers
from footplate.server.refusals import TRACKING, TRANSFERS, is_tracking
from footplate.server.rights import Right
from footplate.services import Services

_API = re.compile(r"/(?:ajax-)?api/[23]\.0(?:/preview)?(/mlflow(?:-artifacts)?(?:/.*)?)", re.DOTALL)
_ROOTS = ("api", "ajax-api", "health", "version")
_PROXIED = "/mlflow-artifacts/artifacts/"
_HEADER = b"x-mlflow-workspace"


class MlflowMiddleware:
    """Answers the requests below its paths, for all workspaces of one server; the application gets all others."""

    def __init__(self, app: ASGIApp, services: Any) -> None:
        self._app = app
        self._services: Services = services

    @cached_property
    def _transfers(self) -> Transfers:
        return Transfers(self._services.home)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not is_tracking(scope):
            await self._app(scope, receive, send)
            return
        try:
            await self._answer(scope, receive, send)
        except MlflowError as error:
            await render(error)(scope, receive, send)
        except FootplateError as error:
            await render(translate(error))(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = str(scope["path"])
        if path.startswith(TRANSFERS):
            await self._transfer(scope, receive, send)
            return
        name, rest = _split(path)
        if rest in ("/health", "/version"):
            await PlainTextResponse("OK" if rest == "/health" else about.VERSION)(scope, receive, send)
            return
        api_path = _API.fullmatch(rest)
        inside = api_path[1] if api_path else rest
        workspace = await asyncio.to_thread(self._workspace, name, _header(scope, _HEADER))
        if inside.startswith(_PROXIED) and scope["method"] in ("GET", "PUT"):
            await self._artifact(workspace, inside.removeprefix(_PROXIED), scope, receive, send)
            return
        match = routes.find(scope["method"], inside) if api_path else None
        if match is None:
            raise MlflowError(f"there is no {scope['method']} {path} here", "ENDPOINT_NOT_FOUND")
        response = await self._handle(workspace, not name, *match, scope, receive)
        await response(scope, receive, send)

    async def _handle(
        self, workspace: str, is_root: bool, route: Route, in_path: Mapping[str, Any], scope: Scope, receive: Receive
    ) -> Response:
        body = await receive_body(receive) if scope["method"] != "GET" else b""
        if route.most_bytes is not None and len(body) > route.most_bytes:
            raise MlflowError(
                f"Batched logging API requests must be at most {route.most_bytes} bytes, got a request of size "
                f"{len(body)}."
            )
        request = {**_request(scope, body, route), **in_path}
        checked = fields.check(route.fields, request)
        run = artifact_paths.locate(in_path["artifact_path"]).run if "artifact_path" in in_path else None
        call = self._call(scope, workspace, checked, is_root)
        more = (self._transfers,) if route.transfers else ()

        async def answer() -> bytes:
            return await asyncio.to_thread(_answer, route, call, *more)

        permit = Permit(self._services, scope, route.right, workspace, run or checked.get("run_id"))
        return Response(await permit.perform(route.name, answer), media_type="application/json")

    def _call(self, scope: Scope, workspace: str, checked: Mapping[str, Any], is_root: bool = False) -> Call:
        principal = cast(Principal, scope["principal"])
        return Call(self._services, workspace, checked, principal, _origin(scope), is_root)

    def _workspace(self, name: str, header: str) -> str:
        """Return the id of the workspace in the path; without one, of that in the header, or of the only one."""
        workspaces = self._services.workspaces
        name = name or header
        if not name:
            views = workspaces.find(None, None, None)
            if len(views) != 1:
                raise MlflowError("this address names no workspace: use /mlflow/NAME, or set MLFLOW_WORKSPACE")
            return views[0].id
        views = workspaces.find(name, None, None)
        if len(views) > 1:
            raise MlflowError(f"{len(views)} workspaces have the name '{name}': use the id of one, {views[0].id}")
        try:
            return views[0].id if views else workspaces.get(name).id
        except NotFound:
            raise missing(f"Workspace '{name}' not found") from None

    # ── Bytes ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _artifact(self, workspace: str, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Send or receive one file."""
        run = artifact_paths.locate(path).run
        writes = scope["method"] == "PUT"
        right = Right.LOG_RUNS if writes else Right.READ_RUNS
        await Permit(self._services, scope, right, workspace, run).check()
        call = self._call(scope, workspace, {})
        if not writes:
            run, file = await asyncio.to_thread(artifact_paths.file_at, call, artifact_paths.locate(path))
            await send_file(self._services.files, run, file, scope, send)
            return
        await self._store(call, path, receive)
        await Response(b"{}", media_type="application/json")(scope, receive, send)

    async def _store(self, call: Call, path: str, receive: Receive) -> None:
        temporary = self._transfers.temporary()
        try:
            await receive_file(receive, temporary)
            await asyncio.to_thread(artifacts.store, call, path, temporary)
        finally:
            temporary.unlink(missing_ok=True)

    async def _transfer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Follow a signed link: send a part of a content, or receive a part of an upload."""
        payload = self._transfers.read_link(str(scope["path"]))
        if "digest" in payload and scope["method"] == "GET":
            size = await asyncio.to_thread(self._services.store.blobs.size, payload["digest"])
            file = FileView("", size, payload["digest"])
            await send_file(self._services.files, "", file, scope, send)
        elif "part" in payload and scope["method"] == "PUT":
            part = self._transfers.part(payload["upload"], payload["part"])
            etag = await receive_file(receive, part)
            await Response(b"", 200, {"etag": f'"{etag}"'})(scope, receive, send)
        else:
            raise MlflowError(f"this link does not admit {scope['method']}", "ENDPOINT_NOT_FOUND")


def _answer(route: Route, call: Call, *more: Transfers) -> bytes:
    return json.dumps(route.handle(call, *more), separators=(",", ":")).encode()


def _split(path: str) -> tuple[str, str]:
    """Return the workspace in a path, empty at the root, and the rest."""
    first, _, rest = path.removeprefix(TRACKING).partition("/")
    return ("", f"/{first}/{rest}".rstrip("/")) if first in _ROOTS else (first, f"/{rest}")


def _request(scope: Scope, body: bytes, route: Route) -> dict[str, Any]:
    """Return the fields of a request: of the query for GET, otherwise of the body."""
    if scope["method"] == "GET":
        query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        repeated = {name for name in LIST_FIELDS if route.fields.get(name, fields.Field()).type in ("list", "texts")}
        return {name: values if name in repeated else values[0] for name, values in query.items()}
    try:
        request: Any = json.loads(body) if body else {}
    except ValueError:
        raise MlflowError("Malformed request: the body is not JSON", "BAD_REQUEST") from None
    return cast("dict[str, Any]", request) if isinstance(request, dict) else {}


def _origin(scope: Scope) -> str:
    """Return the address of this server as the client wrote it; a proxy in front may have ended TLS."""
    scheme = _header(scope, b"x-forwarded-proto") or str(scope.get("scheme", "http"))
    return f"{scheme}://{_header(scope, b'host')}"


def _header(scope: Scope, name: bytes) -> str:
    return next((bytes(value).decode("latin-1") for key, value in scope["headers"] if key == name), "")
