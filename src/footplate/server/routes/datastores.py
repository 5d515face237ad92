from __future__ import annotations

from typing import Any

from fastapi import Response

from footplate.domain.data import StoreSpec
from footplate.domain.datasets import DatastoreView, RunData
from footplate.domain.requests import NewDatastore
from footplate.server.openapi import Page, Router
from footplate.server.responses import answer, answer_list
from footplate.server.rights import Right
from footplate.server.routes.parsing import Body, ServicesOf

router = Router("datastores")


class DatastoreRegistration(Body):
    kind: str
    location: dict[str, str] = {}
    credentials: dict[str, str] = {}
    options: dict[str, Any] = {}
    if_exists: str = "refuse"


class Choice(Body):
    name: str


@router.put("/workspaces/{workspace}/datastores/{name}", Right.CHANGE_WORKSPACE, DatastoreView)
def put_datastore(workspace: str, name: str, body: DatastoreRegistration, services: ServicesOf) -> Response:
    """Register a datastore, or replace it if `if_exists` is `replace`."""
    return answer(services.datastores.put(workspace, name, NewDatastore(**dict(body))))


@router.get("/workspaces/{workspace}/datastores", Right.READ_WORKSPACE, Page(DatastoreView))
def list_datastores(workspace: str, services: ServicesOf) -> Response:
    """List the datastores of a workspace, without credentials."""
    return answer_list(services.datastores.list(workspace))


@router.get("/workspaces/{workspace}/datastores/{name}", Right.READ_WORKSPACE, DatastoreView)
def get_datastore(workspace: str, name: str, services: ServicesOf) -> Response:
    """Return a datastore, without credentials."""
    return answer(services.datastores.get(workspace, name))


@router.delete("/workspaces/{workspace}/datastores/{name}", Right.CHANGE_WORKSPACE, status_code=204)
def delete_datastore(workspace: str, name: str, services: ServicesOf) -> None:
    """Unregister a datastore. Its content stays."""
    services.datastores.delete(workspace, name)


@router.get("/workspaces/{workspace}/default-datastore", Right.READ_WORKSPACE, DatastoreView)
def get_default_datastore(workspace: str, services: ServicesOf) -> Response:
    """Return the default datastore of a workspace."""
    return answer(services.datastores.default(workspace))


@router.put("/workspaces/{workspace}/default-datastore", Right.CHANGE_WORKSPACE, DatastoreView)
def set_default_datastore(workspace: str, body: Choice, services: ServicesOf) -> Response:
    """Choose the default datastore of a workspace."""
    return answer(services.datastores.set_default(workspace, body.name))


@router.post("/workspaces/{workspace}/datastores/{name}/access", Right.READ_ALL_CREDENTIALS, StoreSpec)
def open_datastore(workspace: str, name: str, services: ServicesOf) -> Response:
    """Return the location and the credentials of a datastore."""
    return answer(services.datastores.access(workspace, name))


@router.get("/runs/{run}/datastores/{name}", Right.READ_CREDENTIALS, StoreSpec)
def open_datastore_for_run(run: str, name: str, services: ServicesOf) -> Response:
    """Return the location and the credentials of a datastore that the run names."""
    return answer(services.datastores.access_for_run(run, name))


@router.get("/runs/{run}/data", Right.READ_CREDENTIALS, RunData)
def get_data_of_run(run: str, services: ServicesOf) -> Response:
    """Return the datasets and the stores, with credentials, that the run names."""
    return answer(services.datastores.data_of_run(run))
