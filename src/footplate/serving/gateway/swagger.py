"""The OpenAPI document of a service, from which a client can be generated."""

from __future__ import annotations

from typing import Any

from footplate.serving.gateway.routes import Service

_ERRORS = {
    "400": "The request does not fit the model; the message says what was expected.",
    "401": "A key or token is missing or wrong.",
    "500": "The model or the entry script failed.",
    "503": "No worker can answer now; try again.",
}


def swagger_of(service: Service, hello: dict[str, Any], base: str) -> dict[str, Any]:
    """Describe the service; without a worker that is up, requests and responses are any JSON."""
    request, response = _schemas(hello)
    operation: dict[str, Any] = {
        "operationId": "score",
        "summary": f"Score data with {service.name}.",
        "requestBody": {"required": True, "content": {"application/json": {"schema": request}}},
        "responses": {
            "200": {"description": "The result.", "content": {"application/json": {"schema": response}}},
            **{status: {"description": words} for status, words in _ERRORS.items()},
        },
    }
    document: dict[str, Any] = {
        "openapi": "3.0.3",
        "info": {"title": service.name, "version": str(hello.get("version") or "1.0")},
        "servers": [{"url": base}],
        "paths": {
            "/": {"get": {"operationId": "health", "responses": {"200": {"description": "The service is up."}}}},
            "/score": {"post": operation},
        },
    }
    if service.auth != "none":
        document["components"] = {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}}
        operation["security"] = [{"bearer": []}]
    return document


def _schemas(hello: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    declared: dict[str, Any] = hello.get("swagger") or {}
    if declared.get("input"):
        return declared["input"], declared.get("output") or {}
    signature: dict[str, Any] = hello.get("signature") or {}
    if not signature:
        return {}, {}
    inputs: list[dict[str, Any]] = signature["inputs"]
    properties: dict[str, Any] = {"method": {"type": "string", "enum": signature.get("methods", ["predict"])}}
    if len(inputs) == 1:
        properties["data"] = _tensor(inputs[0])
    properties["inputs"] = {"type": "object", "properties": {tensor["name"]: _tensor(tensor) for tensor in inputs}}
    return {"type": "object", "properties": properties}, {"type": "object"}


_TYPES = {"f": "number", "i": "integer", "u": "integer", "b": "boolean", "o": "string"}


def _tensor(tensor: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": _TYPES.get(str(tensor["dtype"])[0], "number")}
    if tensor["dtype"] == "object":
        schema = {}
    for size in reversed(tensor["shape"] or ()):
        schema = {"type": "array", "items": schema}
        if size > 0:
            schema.update(minItems=size, maxItems=size)
    return schema
