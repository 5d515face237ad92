"""Addresses of workspaces, runs and models, in the form of Azure's plugin for MLflow.

    azureml://HOST/mlflow/v1.0/subscriptions/S/resourceGroups/G/providers/…/workspaces/W   a workspace
    …/workspaces/W/runs/RUN/artifacts/PATH                                                 files of a run
    …/workspaces/W/models/NAME/versions/VERSION/PATH                                       files of a model

`domain.azure_variables.mlflow_tracking_uri` composes the first one. HOST is for people; the query `server` names a team
server that the workspace's file or the user named.
"""

from __future__ import annotations

import os
import re
from typing import Dict, NamedTuple, Tuple, Union
from urllib.parse import parse_qs, quote, unquote, urlsplit

from footplate import environ
from footplate.domain.azure_variables import WORKSPACE_SCOPE
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.session import Session, open_session
from footplate.sdk.workspace import Workspace

_WORKSPACE = re.compile(WORKSPACE_SCOPE.format("([^/]+)", "([^/]+)", "([^/]+)") + "(?:/|$)", re.IGNORECASE)
_workspaces: Dict[Tuple[Session, str, str, str], Workspace] = {}
_RUN = re.compile(r"runs/([^/]+)/artifacts(?:/(.*))?")
_MODEL = re.compile(r"models/([^/]+)/versions/(\d+)(?:/(.*))?")


class RunFiles(NamedTuple):
    """A path among the files of a run; empty for all of them."""

    run: str
    path: str


class ModelFiles(NamedTuple):
    """A path among the files of a model; empty for all of them."""

    name: str
    version: int
    path: str


def run_address(workspace: str, run_id: str) -> str:
    return below(workspace, f"runs/{quote(run_id, safe='')}/artifacts")


def model_address(workspace: str, name: str, version: int) -> str:
    return below(workspace, f"models/{quote(name, safe='')}/versions/{version}")


def below(address: str, path: str) -> str:
    """Return the address of `path` below another address; a query stays at the end."""
    head, mark, query = address.partition("?")
    return f"{head.rstrip('/')}/{path.lstrip('/')}{mark}{query}"


def workspace_part(address: str) -> str:
    """Return the address of the workspace that holds a run or a model."""
    head, mark, query = address.partition("?")
    return head[: _match(address, head).end(3)] + mark + query


def open_workspace(address: str) -> Workspace:
    """Return the workspace that an address names; inside a job it is on the server of the run.

    It is looked up once per server: MLflow opens its stores again for each file.
    """
    parts = urlsplit(address)
    subscription_id, resource_group, name = map(unquote, _match(address, parts.path).groups())
    server = None if os.environ.get(environ.RUN_ID) else (parse_qs(parts.query).get("server") or [None])[0]
    key = (open_session(server), subscription_id, resource_group, name)
    if key not in _workspaces:
        _workspaces[key] = Workspace.get(
            name, subscription_id=subscription_id, resource_group=resource_group, server=server
        )
    return _workspaces[key]


def files_at(address: str) -> Union[RunFiles, ModelFiles]:
    """Return the files that an address names."""
    path = urlsplit(address).path
    rest = path[_match(address, path).end() :]
    run, model = _RUN.fullmatch(rest), _MODEL.fullmatch(rest)
    if run:
        return RunFiles(unquote(run[1]), unquote(run[2] or "").strip("/"))
    if model:
        return ModelFiles(unquote(model[1]), int(model[2]), unquote(model[3] or "").strip("/"))
    raise UserErrorException(
        f"{address!r} names neither files of a run nor a model",
        hint="use the artifact_uri of a run, or models:/NAME/VERSION",
    )


def _match(address: str, path: str) -> re.Match[str]:
    match = _WORKSPACE.search(path)
    if match is None:
        raise UserErrorException(
            f"{address!r} does not name a workspace", hint="use the value of ws.get_mlflow_tracking_uri()"
        )
    return match
