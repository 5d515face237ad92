"""A scoring script of the user's own: `init()` once, `run(data)` for each request.

The rules are Azure's. `run` gets the request's body as text; with `@input_schema` it gets parsed arguments; with
`@rawhttp` it gets the request itself; a parameter `request_headers` gets the headers. The value that it returns is
encoded as JSON once, so a script that returns JSON text gives a string that holds JSON.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any, Optional
from urllib.parse import parse_qsl

from footplate.serving.worker.data_collector import SERVICE
from footplate.serving.worker.messages import JSON, Scorer, ScoreRequest, ScoreResponse, error_response
from footplate.serving.worker.raw_http import RAW_HTTP, AMLRequest, AMLResponse, Headers


class EntryScript(Scorer):
    """The loaded script. Raises whatever its `init` raises."""

    def __init__(self, path: str) -> None:
        self._module = _load(path)
        init: Any = getattr(self._module, "init", None)
        run: Callable[..., Any] | None = getattr(self._module, "run", None)
        if run is None:
            raise AttributeError(f"{path} has no function run(data)\nhint: define run(data), which answers one request")
        self._run = run
        if init is not None:
            init()
        self._raw = bool(getattr(self._run, RAW_HTTP, False))
        self._schema = _schema(self._run)
        self._takes_headers = "request_headers" in _parameters(self._run)

    def answer(self, requests: Sequence[ScoreRequest]) -> list[ScoreResponse]:
        return [self._answer(request) for request in requests]

    def describe(self) -> dict[str, Any]:
        return {"signature": None, "swagger": {"input": self._schema[0], "output": self._schema[1]}}

    def _answer(self, request: ScoreRequest) -> ScoreResponse:
        try:
            arguments, options = self._arguments(request)
        except _BadBody as error:
            return error_response(str(error), 400)
        SERVICE.request = request
        try:
            return to_response(self._run(*arguments, **options))
        except Exception as error:
            if self._schema[0] and not self._has_begun(error):
                return error_response(f"the request does not fit the script: {error}", 400)
            sys.stderr.write(f"request {request.headers.get('x-request-id', 'without an id')} failed\n")
            traceback.print_exc()
            return error_response(f"{type(error).__name__}: {error}", 500)
        finally:
            SERVICE.request = None

    def _has_begun(self, error: Exception) -> bool:
        """Whether the script's own code has run, and not only decorators that parse its arguments."""
        return any(frame.f_globals is vars(self._module) for frame, _ in traceback.walk_tb(error.__traceback__))

    def _arguments(self, request: ScoreRequest) -> Any:
        options: dict[str, Any] = {"request_headers": Headers(request.headers)} if self._takes_headers else {}
        if self._raw:
            return [AMLRequest(request)], options
        text = _text(request)
        if not self._schema[0]:
            return [text], options
        try:
            body = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise _BadBody(f"the request is not JSON: {error}") from None
        if not isinstance(body, dict):
            raise _BadBody("the request is not a JSON object")
        return [], {**body, **options}


class _BadBody(Exception):
    """A body that the script cannot be given."""


def _text(request: ScoreRequest) -> str:
    if request.method == "GET" and request.query:
        return json.dumps(dict(parse_qsl(request.query)))
    try:
        return request.body.decode("utf-8")
    except UnicodeDecodeError:
        raise _BadBody("the request is not UTF-8 text; a script that wants bytes uses @rawhttp") from None


def link_source(folder: str, name: Optional[str]) -> None:
    """Let scripts open the files of the source directory below its name, too: `./src/labels.json`, as on Azure.

    The entries are linked one by one, because a link to the whole directory would contain itself. A directory of
    the same name in the source is the user's own and stays as it is.
    """
    if not name or os.path.lexists(os.path.join(folder, name)):
        return
    entries = os.listdir(folder or ".")
    try:
        os.mkdir(os.path.join(folder, name))
        for entry in entries:
            os.symlink(os.path.join("..", entry), os.path.join(folder, name, entry))
    except OSError as error:  # a package in a read-only image
        sys.stderr.write(f"paths that begin with ./{name} do not work here: {error}\n")


def to_response(value: Any) -> ScoreResponse:
    """Return what `run` returned as a response: JSON, encoded once, unless it is an AMLResponse."""
    if isinstance(value, AMLResponse):
        return value.to_response()
    return ScoreResponse(200, json.dumps(value, default=_plain).encode(), JSON)


def _plain(value: Any) -> Any:
    """Return numpy's and pandas' values as plain ones."""
    for name in ("tolist", "to_dict", "isoformat"):
        method = getattr(value, name, None)
        if method is not None:
            return method()
    raise TypeError(f"{type(value).__name__} cannot be encoded as JSON")


def _load(path: str) -> Any:
    folder = os.path.dirname(os.path.abspath(path))
    sys.path.insert(0, folder)
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _parameters(function: Callable[..., Any]) -> Sequence[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def _schema(run: Callable[..., Any]) -> Any:
    """Return the schemas that inference-schema's decorators keep for the function; empty ones without them."""
    try:
        schemas: Any = importlib.import_module("inference_schema.schema_util")
        inputs, outputs = (dict(read(run) or {}) for read in (schemas.get_input_schema, schemas.get_output_schema))
        # It returns an empty description of functions that it has never seen.
        return inputs if inputs.get("properties") else {}, outputs
    except Exception:  # not installed, or this function was not decorated
        return {}, {}
