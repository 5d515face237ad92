"""The OpenAPI document is complete, and the typed client sends exactly the requests that it describes."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from footplate import api
from footplate.api import PREFIX, ApiClient
from footplate.domain import records, replies, shipments, stacks
from footplate.server.app import create_app
from footplate.server.hub import Hub

ROOT = Path(__file__).parents[2]
DOCUMENT: dict[str, Any] = create_app(SimpleNamespace(), Hub(), None).openapi()  # type: ignore[arg-type]
OPERATIONS: dict[tuple[str, str], dict[str, Any]] = {
    (method.upper(), path.removeprefix(PREFIX)): operation
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
}
METHODS = [
    (noun, name) for noun in api.NOUNS for name in dir(getattr(ApiClient(None), noun)) if not name.startswith("_")  # type: ignore[arg-type]
    and name != "url"
]  # fmt: skip
NOUNS = "|".join({path.split("/")[1] for _, path in OPERATIONS})
URL = re.compile(rf"^({PREFIX})?/({NOUNS})(/|$|\?)|^{PREFIX}/?$")


class Sent(Exception):
    """Raised in place of sending a request."""


class Recorder:
    """A transport that records one request and sends none."""

    def request(self, method: str, path: str, **content: Any) -> Any:
        raise Sent({"method": method, "path": path, **content})

    def stream(self, path: str, query: Any = None) -> Any:
        raise Sent({"method": "GET", "path": path, "query": query})

    def upgrade(self, path: str, protocol: str, query: Any = None) -> Any:
        raise Sent({"method": "POST", "path": path, "query": query})


def example(kind: Any) -> Any:
    """Return a value of this type with every optional part present."""
    origin, options = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return example(next(option for option in options if option is not type(None)))
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        needed = [f for f in dataclasses.fields(kind) if f.default is f.default_factory is dataclasses.MISSING]
        return kind(**{field.name: example(hints[field.name]) for field in needed})  # type: ignore[operator]
    if origin is not None and issubclass(origin, typing.Mapping):
        return {"key": "value"}
    if origin is not None and issubclass(origin, typing.Sequence):
        return [example(options[0])]
    return {str: "x", int: 1, float: 1.0, bool: True, bytes: b"x"}.get(kind, "x")


def hints_of(method: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of a method; some modules of the client import theirs only for type checkers."""
    return typing.get_type_hints(method, localns={**vars(records), **vars(shipments), **vars(stacks), **vars(replies)})


def request_of(noun: str, name: str) -> dict[str, Any]:
    method = getattr(getattr(ApiClient(Recorder()), noun), name)  # type: ignore[arg-type]
    hints = hints_of(method)
    with pytest.raises(Sent) as sent:
        found = method(**{each: example(hints[each]) for each in inspect.signature(method).parameters})
        next(found)
    return sent.value.args[0]


def operation_of(request: dict[str, Any]) -> tuple[str, str]:
    """Return the operation that a request reaches; a literal segment wins over a parameter, as in the router."""
    fitting = [
        key
        for key in OPERATIONS
        if key[0] == request["method"] and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", key[1]), request["path"])
    ]
    return min(fitting, key=lambda key: key[1].count("{"))


def resolve(schema: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return DOCUMENT["components"]["schemas"][name] if name else schema


def body_schema(operation: dict[str, Any]) -> dict[str, Any]:
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    return resolve(next((option for option in schema.get("anyOf", [schema]) if "$ref" in option), schema))


# ── The document ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("key", OPERATIONS, ids=" ".join)
def test_operation_is_described_completely(key: tuple[str, str]) -> None:
    operation = OPERATIONS[key]
    assert operation["operationId"] and operation["summary"] and operation["description"] and operation["tags"]
    declared = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "path"}
    assert declared == set(re.findall(r"\{(\w+)\}", key[1]))
    assert all(parameter["schema"] for parameter in operation.get("parameters", ()))
    for content in operation.get("requestBody", {}).get("content", {}).values():
        assert content["schema"]
    (status,) = (status for status in operation["responses"] if status.startswith(("101", "2")))
    content = operation["responses"][status].get("content", {})
    assert (status in ("101", "204")) == (not content)
    assert all(each["schema"] for each in content.values())
    assert operation["responses"]["default"]["content"]["application/json"]["schema"]


# ── The client ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("noun", "name"), METHODS)
def test_client_method_sends_a_described_request(noun: str, name: str) -> None:
    request = request_of(noun, name)
    operation = OPERATIONS[operation_of(request)]
    known = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"}
    assert {key for key, value in (request.get("query") or {}).items() if value is not None} <= known
    assert ("requestBody" in operation) == (request.get("json") is not None or request.get("body") is not None)
    if request.get("json") is not None:
        schema = body_schema(operation)
        assert set(request["json"]) == set(schema["properties"])
    elif "requestBody" in operation:
        assert request["body"] == b"x" and "application/octet-stream" in operation["requestBody"]["content"]


@pytest.mark.parametrize(("noun", "name"), METHODS)
def test_client_method_returns_the_described_model(noun: str, name: str) -> None:
    operation = OPERATIONS[operation_of(request_of(noun, name))]
    method = getattr(getattr(ApiClient(Recorder()), noun), name)  # type: ignore[arg-type]
    returned = hints_of(method)["return"]
    page = typing.get_args(returned)[0] if typing.get_origin(returned) is Iterator else None
    expected = (
        f"{getattr(page, '__name__', '')}Page" if dataclasses.is_dataclass(page) else getattr(returned, "__name__", "")
    )
    if dataclasses.is_dataclass(returned) or dataclasses.is_dataclass(page):
        (response,) = (each for status, each in operation["responses"].items() if status.startswith("2"))
        schema = response["content"]["application/json"]["schema"]
        assert schema["$ref"].rpartition("/")[2] == expected


def test_every_operation_has_a_client_method() -> None:
    assert {operation_of(request_of(noun, name)) for noun, name in METHODS} == set(OPERATIONS)


# ── Paths ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

ALLOWED = {
    "src/footplate/api": "the client",
    "src/footplate/server": "the routes, and the guard that stands before them",
    "src/footplate/engines/agent_bootstrap.py": "runs on a machine before the client is there",
    "tests/unit/engines/test_agent_bootstrap.py": "the test of that program",
    "src/footplate/sdk/compute/targets.py": "an Azure resource id, not a URL",
    "tests/conformance/test_api_contract.py": "this test",
    "tests/unit/api": "tests of signed links",
    "tests/unit/server": "tests of the routes and of the guard",
    "tests/unit/client": "tests of the transport, against a server that knows no routes",
    "tests/browser": "addresses of the page, not of the API",
    "tests/e2e/test_sdk_team.py": "the address that a user opens, not a request",
    "tests/unit/services/test_get_requests.py": "names a route that it walks",
    "tests/unit/services/test_mlflow_requests.py": "a route of the API that the port of the page does not serve",
    "tests/conformance/test_fuzzed_requests.py": "raw requests that no client would send",
    "tests/e2e/test_ops_security.py": "raw requests that no client would send",
    "tests/e2e/test_server_process.py": "raw requests to a server process",
}


def literals(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and text of each string in the code; docstrings are prose."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    prose = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.lineno, node.value


def test_paths_of_the_api_appear_in_routes_and_client_only() -> None:
    found: list[str] = []
    for folder in ("src", "packages", "benchmarks", "scripts", "examples", "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = str(path.relative_to(ROOT)).replace("tests/processes/", "tests/unit/")
            if not name.startswith(tuple(ALLOWED)) and not {".venv", ".peers"} & set(path.parts):
                found += [f"{name}:{line}: {text[:80]}" for line, text in literals(path) if URL.search(text)]
    assert not found, "\n".join(found)
