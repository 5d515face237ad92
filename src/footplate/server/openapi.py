"""The OpenAPI document, made on the first request for it: no other request needs the descriptions of responses."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import create_model

from footplate.errors import FootplateError
from footplate.server.audit import is_recorded, record
from footplate.server.authorization import authorize
from footplate.server.rights import Log, Right, require, right_of

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


class Declare(Protocol):
    """A decorator that makes a function the endpoint of a route."""

    def __call__(self, endpoint: Endpoint) -> Endpoint: ...


_ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "hint", "details"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "hint": {"type": ["string", "null"]},
                "details": {"type": "object"},
            },
        }
    },
}
_OCTETS: dict[str, Any] = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}

BYTES_OUT: dict[int | str, dict[str, Any]] = {200: {"description": "The content", "content": _OCTETS}}
"""The `responses` of a route that returns bytes."""

CSV_OUT: dict[int | str, dict[str, Any]] = {
    200: {"description": "Rows of CSV", "content": {"text/csv": {"schema": {"type": "string"}}}}
}
"""The `responses` of a route that returns CSV."""

EVENTS_OUT: dict[int | str, dict[str, Any]] = {
    200: {"description": "Server-sent events", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
}
"""The `responses` of a route that streams events."""

BYTES_IN: dict[str, Any] = {"requestBody": {"required": True, "content": _OCTETS}}
"""The `openapi_extra` of a route that takes bytes."""


@dataclass(frozen=True)
class Page:
    """The response model of a list: `items` of one kind, and the cursor of the `next` page or null."""

    item: Any


class Route(APIRoute):
    """An endpoint that renders its response itself. Its `response_model` serves the document only.

    FastAPI would build a validator and a serializer for each model, which takes megabytes and much of the server's
    start. A request reaches the endpoint only if its principal has the right that the endpoint requires.
    """

    def __init__(self, path: str, endpoint: Any, *, response_model: Any = None, **rest: Any) -> None:
        self.right = right_of(endpoint)
        super().__init__(path, endpoint, response_model=None, **rest)
        self._described = response_model

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_authorized(request: Request) -> Response:
            await authorize(request, self.right)
            return await handle(request)

        async def handle_recorded(request: Request) -> Response:
            if not is_recorded(self.right, request.scope["principal"]):
                return await handle_authorized(request)
            status = 500
            try:
                response = await handle_authorized(request)
                status = response.status_code
                return response
            except FootplateError as error:
                status = error.status
                raise
            except RequestValidationError:
                status = 400
                raise
            finally:
                await record(request, request.app.state.services, self.name, status)

        return handle_recorded if self.right.log is not Log.NONE else handle_authorized

    def document(self, prefix: str) -> APIRoute:
        """Return the route as FastAPI describes it."""
        model = self._described
        if isinstance(model, Page):
            fields: dict[str, Any] = {"items": (list[model.item], ...), "next": (str | None, ...)}  # pyright: ignore
            model = create_model(f"{model.item.__name__}Page", **fields)
        return APIRoute(
            prefix + self.path,
            self.endpoint,
            response_model=model,
            response_class=self.response_class,
            responses=self.responses,
            openapi_extra={**(self.openapi_extra or {}), "x-right": self.right.name},
            methods=self.methods,
            status_code=self.status_code,
            tags=self.tags,
            generate_unique_id_function=operation_id,
        )


class Router(APIRouter):
    """The routes of one noun. Each names the right that it requires, and the model of its response."""

    def __init__(self, tag: str) -> None:
        super().__init__(tags=[tag], route_class=Route)

    def _add(self, method: str, path: str, right: Right, model: Any, options: dict[str, Any]) -> Declare:
        def declare(endpoint: Endpoint) -> Endpoint:
            require(right, endpoint)
            self.add_api_route(path, endpoint, methods=[method], response_model=model, **options)
            return endpoint

        return declare

    def get(self, path: str, right: Right, model: Any = None, **options: Any) -> Declare:  # pyright: ignore
        return self._add("GET", path, right, model, options)

    def put(self, path: str, right: Right, model: Any = None, **options: Any) -> Declare:  # pyright: ignore
        return self._add("PUT", path, right, model, options)

    def post(self, path: str, right: Right, model: Any = None, **options: Any) -> Declare:  # pyright: ignore
        return self._add("POST", path, right, model, options)

    def patch(self, path: str, right: Right, model: Any = None, **options: Any) -> Declare:  # pyright: ignore
        return self._add("PATCH", path, right, model, options)

    def delete(self, path: str, right: Right, model: Any = None, **options: Any) -> Declare:  # pyright: ignore
        return self._add("DELETE", path, right, model, options)


def operation_id(route: APIRoute) -> str:
    return route.name


def describe(app: FastAPI, routers: Iterable[APIRouter], prefix: str) -> dict[str, Any]:
    """Return FastAPI's document with the errors that this server really sends."""
    if app.openapi_schema:
        return app.openapi_schema
    routes = [route.document(prefix) for router in routers for route in router.routes if isinstance(route, Route)]
    document = get_openapi(title=app.title, version=app.version, routes=routes)
    components: dict[str, Any] = document.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        components.pop(name, None)
    components["Error"] = _ERROR
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    for operations in document["paths"].values():
        for operation in operations.values():
            operation["responses"].pop("422", None)
            operation["responses"]["default"] = {"description": "The error and a hint", "content": content}
    app.openapi_schema = document
    return document
