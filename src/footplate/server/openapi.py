"""The OpenAPI document, made when somebody asks for it: what it says of answers is of no use to any other request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

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


class Route(APIRoute):
    """An endpoint that makes its answer itself. Its `response_model` is only described: FastAPI would build what
    checks and writes such an answer for each of them, which takes megabytes, and a good part of the server's start."""

    def __init__(self, path: str, endpoint: Any, *, response_model: Any = None, **rest: Any) -> None:
        super().__init__(path, endpoint, response_model=None, **rest)
        self._described = response_model

    def described(self, prefix: str) -> APIRoute:
        return APIRoute(
            prefix + self.path,
            self.endpoint,
            response_model=self._described,
            response_class=self.response_class,
            methods=self.methods,
            status_code=self.status_code,
            tags=self.tags,
            generate_unique_id_function=operation_id,
        )


def operation_id(route: APIRoute) -> str:
    return route.name


def describe(app: FastAPI, routers: Iterable[APIRouter], prefix: str) -> dict[str, Any]:
    """FastAPI's document, with the errors that we really send in place of its own."""
    if app.openapi_schema:
        return app.openapi_schema
    routes = [route.described(prefix) for router in routers for route in router.routes if isinstance(route, Route)]
    document = get_openapi(title=app.title, version=app.version, routes=routes)
    components: dict[str, Any] = document.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        components.pop(name, None)
    components["Error"] = _ERROR
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    for operations in document["paths"].values():
        for operation in operations.values():
            operation["responses"].pop("422", None)
            operation["responses"]["default"] = {"description": "What went wrong, and what to do", "content": content}
    app.openapi_schema = document
    return document
