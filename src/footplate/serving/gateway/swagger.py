"""The OpenAPI document of a service, from which a client can be generated."""

from __future__ import annotations

from typing import Any

from footplate.domain.serving.routes import ServiceRoute

_ERRORS = {
    "400": "The request does not fit the model; the message says what was expected.",
    "401": "A key or token is missing or wrong.",
    "500": "The model or the entry script failed.",
    "503": "No worker can answer now; try again.",
}


def swagger_of(name: str, service: ServiceRoute, hello: dict[str, Any], base: str) -> dict[str, Any]:
    """Describe the service; without a worker that is up, requests and responses are any JSON."""
    request, response = _schemas(hello)
    operation: dict[str, Any] = {
        "operationId": "score",
        "summary": f"Score data with {name}.",
        "requestBody": {"required": True, "content": {"application/json": {"schema": request}}},
        "responses": {
            "200": {"description": "The result.", "content": {"application/json": {"schema": response}}},
            **{status: {"description": words} for status, words in _ERRORS.items()},
        },
    }
    document: dict[str, Any] = {
        "openapi": "3.0.3",
        "info": {"title": name, "version": str(hello.get("version") or "1.0")},
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
    methods: list[str] = signature.get("methods") or ["predict"]
    by_name = {"type": "object", "properties": {tensor["name"]: _tensor(tensor) for tensor in inputs}}
    properties: dict[str, Any] = {"method": {"type": "string", "enum": methods}, "inputs": by_name}
    example: dict[str, Any] = {"inputs": {tensor["name"]: _example(tensor) for tensor in inputs}}
    if len(inputs) == 1:
        properties["data"] = _tensor(inputs[0])
        example = {"data": _example(inputs[0]), "method": methods[0]}
    request: dict[str, Any] = {"type": "object", "properties": properties}
    # Zeros are sure to fit, unless a shape is not known, or the types of named columns may differ.
    if all(each["shape"] is not None and not (each["dtype"] == "object" and each.get("columns")) for each in inputs):
        request["example"] = example
    return request, {"type": "object"}


_TYPES = {"f": "number", "i": "integer", "u": "integer", "b": "boolean"}
_EXAMPLES = {"number": 0.0, "integer": 0, "boolean": False}


def _tensor(tensor: dict[str, Any]) -> dict[str, Any]:
    """Describe an input; one whose shape is not known is any JSON."""
    if tensor["shape"] is None:
        return {}
    kind = _TYPES.get(tensor["dtype"][0])
    schema: dict[str, Any] = {"type": kind} if kind else {}
    for size in reversed(tensor["shape"]):
        schema = {"type": "array", "items": schema}
        if size > 0:
            schema.update(minItems=size, maxItems=size)
    if tensor.get("columns"):
        schema["description"] = f"Columns: {', '.join(tensor['columns'])}. Records by name are accepted too."
    return schema


def _example(tensor: dict[str, Any]) -> Any:
    """Return zeros, one in each dimension of any length."""
    value: Any = _EXAMPLES.get(_TYPES.get(tensor["dtype"][0], ""), "")
    for size in reversed(tensor["shape"] or ()):
        value = [value] * max(1, size)
    return value
