"""Errors in the form of MLflow's REST API: a code, which has an HTTP status, and a message."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from footplate.errors import FootplateError

_STATUS = {
    "INVALID_PARAMETER_VALUE": 400,
    "RESOURCE_ALREADY_EXISTS": 400,
    "BAD_REQUEST": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "RESOURCE_DOES_NOT_EXIST": 404,
    "ENDPOINT_NOT_FOUND": 404,
    "RESOURCE_CONFLICT": 409,
    "REQUEST_LIMIT_EXCEEDED": 429,
    "NOT_IMPLEMENTED": 501,
    "TEMPORARILY_UNAVAILABLE": 503,
}

_CODES = {
    "not_found": "RESOURCE_DOES_NOT_EXIST",
    "conflict": "RESOURCE_CONFLICT",
    "bad_transition": "RESOURCE_CONFLICT",
    "not_allowed": "PERMISSION_DENIED",
    "invalid": "INVALID_PARAMETER_VALUE",
    "unavailable": "TEMPORARILY_UNAVAILABLE",
    "out_of_space": "TEMPORARILY_UNAVAILABLE",
}


class MlflowError(Exception):
    """An error that an MLflow client understands."""

    def __init__(self, message: str, code: str = "INVALID_PARAMETER_VALUE") -> None:
        super().__init__(message)
        self.message = message
        self.code = code


def missing(message: str) -> MlflowError:
    return MlflowError(message, "RESOURCE_DOES_NOT_EXIST")


def exists(message: str) -> MlflowError:
    return MlflowError(message, "RESOURCE_ALREADY_EXISTS")


def translate(error: FootplateError) -> MlflowError:
    """Return an error of a service as MLflow names it, with the hint as a second sentence."""
    hint = f"; {error.hint}" if error.hint else ""
    return MlflowError(f"{error.message}{hint}", _CODES.get(error.code, "INTERNAL_ERROR"))


def status_of(error: MlflowError) -> int:
    return _STATUS.get(error.code, 500)


def render(error: MlflowError) -> Response:
    body: dict[str, Any] = {"error_code": error.code, "message": error.message}
    return Response(json.dumps(body), status_of(error), media_type="application/json")


def render_refusal(error: FootplateError) -> Response:
    """Return the response to a request that did not reach a handler; without credentials it is unauthenticated."""
    unauthenticated = error.code == "not_allowed"
    failure = MlflowError(translate(error).message, "UNAUTHENTICATED") if unauthenticated else translate(error)
    return render(failure)
