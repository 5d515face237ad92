from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from footplate.domain.datasets import DatasetView, DataUse, Lineage
from footplate.domain.replies import DatasetFile, UnregisteredDataset
from footplate.domain.requests import NewDataset
from footplate.errors import InvalidInput
from footplate.server.openapi import Page, Route
from footplate.server.responses import answer, answer_list
from footplate.server.rights import Right, requires
from footplate.server.routes.parsing import Body, PrincipalOf, Repeated, ServicesOf, pairs
from footplate.services.datasets import LARGEST_PAGE

router = APIRouter(tags=["datasets"], route_class=Route)


class DatasetRegistration(Body):
    key: str
    kind: str
    definition: dict[str, Any]
    name: str | None = None
    listing: str | None = None
    description: str | None = None
    tags: dict[str, str | None] = {}
    new_version: bool = False
    run: str | None = None
    output: str | None = None


class DatasetChange(Body):
    description: str | None = None
    tags: dict[str, str | None] | None = None
    remove_tags: tuple[str, ...] = ()


class DatasetRead(Body):
    dataset: str
    name: str


def _version(text: str) -> int | None:
    if text == "latest":
        return None
    if not (text.isascii() and text.isdigit()):
        raise InvalidInput(f"{text!r} is not a dataset version", "give a whole number, or 'latest'")
    return int(text)


@router.post("/workspaces/{workspace}/datasets", response_model=DatasetView)
@requires(Right.REGISTER)
def register_dataset(
    workspace: str, body: DatasetRegistration, services: ServicesOf, principal: PrincipalOf
) -> Response:
    """Keep a dataset definition; with a name, register it. A repeated `key` returns the same dataset."""
    if principal.run is not None and body.run is not None:
        services.limits.check_claim(principal.run, body.run)
    return answer(services.datasets.register(workspace, NewDataset(**dict(body))))


@router.get("/workspaces/{workspace}/datasets", response_model=Page(DatasetView))
@requires(Right.READ_WORKSPACE)
def list_datasets(
    workspace: str, services: ServicesOf, name: str | None = None, tag: Repeated = (), latest: bool = False
) -> Response:
    """List registered datasets, the newest first."""
    return answer_list(services.datasets.list(workspace, name, pairs(tag), latest))


@router.get("/workspaces/{workspace}/datasets/{name}/{version}", response_model=DatasetView)
@requires(Right.READ_WORKSPACE)
def get_dataset(workspace: str, name: str, version: str, services: ServicesOf) -> Response:
    """Return a version of a registered dataset."""
    return answer(services.datasets.get(workspace, name, _version(version)))


@router.delete("/workspaces/{workspace}/datasets/{name}", response_model=UnregisteredDataset)
@requires(Right.CHANGE_WORKSPACE)
def unregister_dataset(workspace: str, name: str, services: ServicesOf, version: int | None = None) -> Response:
    """Take the name from a version of a dataset, or from all. They keep their ids."""
    return answer(UnregisteredDataset(services.datasets.unregister(workspace, name, version)))


@router.get("/workspaces/{workspace}/dataset-ids/{id}", response_model=DatasetView)
@requires(Right.READ_WORKSPACE)
def get_dataset_by_id(workspace: str, id: str, services: ServicesOf) -> Response:
    """Return a dataset by its id."""
    return answer(services.datasets.by_id(workspace, id))


@router.patch("/workspaces/{workspace}/dataset-ids/{id}", response_model=DatasetView)
@requires(Right.REGISTER)
def change_dataset(workspace: str, id: str, body: DatasetChange, services: ServicesOf) -> Response:
    """Change the description or the tags of a dataset."""
    return answer(services.datasets.change(workspace, id, **dict(body)))


@router.get("/workspaces/{workspace}/dataset-ids/{id}/files", response_model=Page(DatasetFile))
@requires(Right.READ_WORKSPACE)
def list_files_of_dataset(
    workspace: str,
    id: str,
    services: ServicesOf,
    cursor: str = "",
    limit: Annotated[int, Query(ge=1, le=LARGEST_PAGE)] = LARGEST_PAGE,
) -> Response:
    """List the files that a dataset version pins, page by page."""
    page, following = services.datasets.files(workspace, id, cursor, limit)
    return answer_list([DatasetFile(*item) for item in page], following)


@router.get("/workspaces/{workspace}/dataset-ids/{id}/lineage", response_model=Lineage)
@requires(Right.READ_WORKSPACE)
def get_lineage(workspace: str, id: str, services: ServicesOf) -> Response:
    """Return the runs that wrote and read a dataset, and the models made from it."""
    return answer(services.datasets.lineage(workspace, id))


@router.get("/runs/{run}/datasets", response_model=Page(DataUse))
@requires(Right.READ_RUNS)
def list_datasets_of_run(run: str, services: ServicesOf) -> Response:
    """List the datasets that a run read and wrote."""
    return answer_list(services.datasets.of_run(run))


@router.post("/runs/{run}/datasets", status_code=204)
@requires(Right.CHANGE_RUNS)
def note_dataset_of_run(run: str, body: DatasetRead, services: ServicesOf) -> None:
    """Record that a run reads a dataset that it was not submitted with."""
    services.datasets.note_read(run, body.dataset, body.name)
