from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Response

from footplate.domain.datasets import DatasetView, DataUse, Lineage
from footplate.domain.replies import DatasetFile, UnregisteredDataset
from footplate.domain.requests import NewDataset
from footplate.errors import InvalidInput
from footplate.server.authorization import check_run_change
from footplate.server.openapi import Page, Router
from footplate.server.responses import answer, answer_list
from footplate.server.rights import Right
from footplate.server.routes.parsing import Body, PrincipalOf, Repeated, ServicesOf, pairs
from footplate.services.datasets import LARGEST_PAGE

router = Router("datasets")


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


@router.post("/workspaces/{workspace}/datasets", Right.REGISTER, DatasetView)
def register_dataset(
    workspace: str, body: DatasetRegistration, services: ServicesOf, principal: PrincipalOf
) -> Response:
    """Keep a dataset definition; with a name, register it. A repeated `key` returns the same dataset."""
    if principal.run is not None and body.run is not None:
        services.limits.check_claim(principal.run, body.run)
    elif body.run is not None and body.output is not None:
        check_run_change(principal, body.run, services)
    return answer(services.datasets.register(workspace, NewDataset(**dict(body))))


@router.get("/workspaces/{workspace}/datasets", Right.READ_WORKSPACE, Page(DatasetView))
def list_datasets(
    workspace: str, services: ServicesOf, name: str | None = None, tag: Repeated = (), latest: bool = False
) -> Response:
    """List registered datasets, the newest first."""
    return answer_list(services.datasets.list(workspace, name, pairs(tag), latest))


@router.get("/workspaces/{workspace}/datasets/{name}/{version}", Right.READ_WORKSPACE, DatasetView)
def get_dataset(workspace: str, name: str, version: str, services: ServicesOf) -> Response:
    """Return a version of a registered dataset."""
    return answer(services.datasets.get(workspace, name, _version(version)))


@router.delete("/workspaces/{workspace}/datasets/{name}", Right.CHANGE_WORKSPACE, UnregisteredDataset)
def unregister_dataset(workspace: str, name: str, services: ServicesOf, version: int | None = None) -> Response:
    """Take the name from a version of a dataset, or from all. They keep their ids."""
    return answer(UnregisteredDataset(services.datasets.unregister(workspace, name, version)))


@router.get("/workspaces/{workspace}/dataset-ids/{id}", Right.READ_WORKSPACE, DatasetView)
def get_dataset_by_id(workspace: str, id: str, services: ServicesOf) -> Response:
    """Return a dataset by its id."""
    return answer(services.datasets.by_id(workspace, id))


@router.patch("/workspaces/{workspace}/dataset-ids/{id}", Right.REGISTER, DatasetView)
def change_dataset(workspace: str, id: str, body: DatasetChange, services: ServicesOf) -> Response:
    """Change the description or the tags of a dataset."""
    return answer(services.datasets.change(workspace, id, **dict(body)))


@router.get("/workspaces/{workspace}/dataset-ids/{id}/files", Right.READ_WORKSPACE, Page(DatasetFile))
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


@router.get("/workspaces/{workspace}/dataset-ids/{id}/lineage", Right.READ_WORKSPACE, Lineage)
def get_lineage(workspace: str, id: str, services: ServicesOf) -> Response:
    """Return the runs that wrote and read a dataset, and the models made from it."""
    return answer(services.datasets.lineage(workspace, id))


@router.get("/runs/{run}/datasets", Right.READ_RUNS, Page(DataUse))
def list_datasets_of_run(run: str, services: ServicesOf) -> Response:
    """List the datasets that a run read and wrote."""
    return answer_list(services.datasets.of_run(run))


@router.post("/runs/{run}/datasets", Right.LOG_RUNS, status_code=204)
def note_dataset_of_run(run: str, body: DatasetRead, services: ServicesOf) -> None:
    """Record that a run reads a dataset that it was not submitted with."""
    services.datasets.note_read(run, body.dataset, body.name)
