"""Errors of requests that reach no endpoint, in the form that the client of the path expects."""

from __future__ import annotations

from starlette.responses import Response
from starlette.types import Scope

from footplate.errors import FootplateError
from footplate.server.mlflow.errors import render_refusal
from footplate.server.responses import answer_error

TRACKING, TRANSFERS = "/mlflow/", "/mlflow-transfers/"
"""The paths of MLflow's clients, and those of signed links, which carry no other credentials."""


def is_tracking(scope: Scope) -> bool:
    """Whether a request is for MLflow's routes."""
    return str(scope.get("path", "")).startswith((TRACKING, TRANSFERS))


def refuse(error: FootplateError, scope: Scope) -> Response:
    return render_refusal(error) if is_tracking(scope) else answer_error(error)
