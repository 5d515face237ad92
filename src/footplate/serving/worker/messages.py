"""Requests and responses as a scorer sees them."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

JSON = "application/json"

try:
    _orjson: Any = importlib.import_module("orjson")
except ImportError:
    _orjson = None


NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class ScoreRequest(NamedTuple):
    """One HTTP request. `path` is the part behind the service's own address, such as "score"."""

    body: bytes
    path: str = "score"
    method: str = "POST"
    query: str = ""
    headers: Mapping[str, str] = NO_HEADERS  # names in lower case
    collect: bool = False  # whether scripts may keep its data: see data_collector


class ScoreResponse(NamedTuple):
    """One HTTP response."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: Mapping[str, str] = NO_HEADERS


class Refused(Exception):
    """A request that cannot be answered, and the status that says so."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


class Scorer:
    """Answers requests. `batches` tells the gateway whether it may send several at once."""

    framework = "Custom"
    batches = False
    protocols: Sequence[str] = ("score",)

    def answer(self, requests: Sequence[ScoreRequest]) -> list[ScoreResponse]:
        """Return one response for each request, in the same order; never raise."""
        raise NotImplementedError

    def describe(self) -> dict[str, Any]:
        """Return the signature and the OpenAPI document of the service, as far as they are known."""
        return {"signature": None, "swagger": None}


def parse_json(text: bytes) -> Any:
    """Return the value of a JSON text; orjson parses numbers ten times faster where the environment has it.

    A text that orjson refuses is parsed again, because Python takes more: NaN, and numbers of any length.
    """
    if _orjson is not None:
        try:
            return _orjson.loads(text)
        except ValueError:
            pass
    return json.loads(text)


def dump_json(value: Any) -> bytes:
    """Return the JSON text of a value; orjson writes numbers twenty times faster where the environment has it."""
    if _orjson is not None:
        try:
            return _orjson.dumps(value)
        except TypeError:  # Python takes more: whole numbers of any length
            pass
    return json.dumps(value, separators=(",", ":")).encode()


def json_response(value: Any, status: int = 200) -> ScoreResponse:
    """Return a value as JSON."""
    return ScoreResponse(status, dump_json(value))


def error_response(message: str, status: int, key: str = "message") -> ScoreResponse:
    """Return an error in the form that the protocol of the request has."""
    return json_response({key: message}, status)
