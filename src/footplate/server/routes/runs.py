from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from footplate.domain.codec import to_json
from footplate.domain.records import RunView
from footplate.domain.run_status import TERMINAL
from footplate.domain.stacks import RunStacks
from footplate.server.openapi import Route
from footplate.server.responses import answer, answer_list
from footplate.server.routes.parsing import Body, HubOf, Repeated, ServicesOf, StrictCause, StrictSpec, pairs, poll
from footplate.services import Services
from footplate.services.files import Tail
from footplate.services.stacks import topic
from footplate.storage import RunQuery

router = APIRouter(tags=["runs"], route_class=Route)


class NewRun(Body):
    id: str
    spec: StrictSpec
    created_by: str = ""


class RunChange(Body):
    display_name: str | None = None
    description: str | None = None
    tags: dict[str, str | None] | None = None
    remove_tags: tuple[str, ...] = ()
    properties: dict[str, str] | None = None


class CancelRequest(Body):
    by: str = ""
    reason: str = ""


class RestartRequest(Body):
    attempt: int
    by: str = ""
    reason: str = ""


class StacksRequest(Body):
    key: str
    wait: float = 0.0


class FailRequest(Body):
    cause: StrictCause


class SnapshotRequest(Body):
    snapshot: str


class WarningRequest(Body):
    message: str


@router.post("/workspaces/{workspace}/runs", response_model=RunView)
def submit_run(workspace: str, body: NewRun, services: ServicesOf) -> Response:
    return answer(services.runs.submit(workspace, body.id, body.spec, body.created_by))


@router.get("/workspaces/{workspace}/runs")
def list_runs(
    workspace: str,
    services: ServicesOf,
    experiment: str | None = None,
    prefix: str | None = None,
    type: str | None = None,
    status: Repeated = (),
    tag: Repeated = (),
    property: Repeated = (),
    parent: str = "none",
    ancestor: str | None = None,
    metric: str | None = None,
    metric_min: float | None = None,
    metric_max: float | None = None,
    order: str = "created",
    ascending: bool = False,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: str | None = None,
) -> Response:
    query = RunQuery(
        workspace=workspace, experiment=experiment, prefix=prefix, type=type, status=status, tags=pairs(tag),
        properties=pairs(property), parent=parent, ancestor=ancestor, metric=metric, metric_min=metric_min,
        metric_max=metric_max, order=order, ascending=ascending, limit=limit, cursor=cursor,
    )  # fmt: skip
    views, following = services.runs.list(query)
    return answer_list(views, following, tag_non_finite=True)


@router.get("/runs/{run}", response_model=RunView)
async def get_run(
    run: str, services: ServicesOf, hub: HubOf, version: int = -1, wait: float = 0.0, until: str = "change"
) -> Response:
    """`until=ended`: who only waits for the end is not told about every step on the way, which would slow it down."""

    def enough(view: RunView) -> bool:
        return view.status in TERMINAL if until == "ended" else view.version > version

    topic = "turn" if until == "ended" else "run"
    return answer(await poll(hub, f"{topic}:{run}", lambda: services.runs.view(run), enough, wait))


@router.patch("/runs/{run}", response_model=RunView)
def change_run(run: str, body: RunChange, services: ServicesOf) -> Response:
    return answer(services.runs.change(run, **dict(body)))


@router.post("/runs/{run}/cancel", response_model=RunView)
def cancel_run(run: str, services: ServicesOf, body: CancelRequest | None = None) -> Response:
    body = body or CancelRequest()
    return answer(services.runs.cancel(run, body.by, body.reason))


@router.post("/runs/{run}/restart", response_model=RunView)
def restart_run(run: str, body: RestartRequest, services: ServicesOf) -> Response:
    return answer(services.runs.restart(run, body.attempt, body.by, body.reason))


@router.post("/runs/{run}/complete", response_model=RunView)
def complete_run(run: str, services: ServicesOf) -> Response:
    return answer(services.runs.complete(run))


@router.post("/runs/{run}/fail", response_model=RunView)
def fail_run(run: str, body: FailRequest, services: ServicesOf) -> Response:
    return answer(services.runs.fail(run, body.cause))


@router.post("/runs/{run}/snapshot", response_model=RunView)
def set_snapshot(run: str, body: SnapshotRequest, services: ServicesOf) -> Response:
    return answer(services.runs.set_snapshot(run, body.snapshot))


@router.post("/runs/{run}/warnings", response_model=RunView)
def warn_run(run: str, body: WarningRequest, services: ServicesOf) -> Response:
    return answer(services.runs.warn(run, body.message))


@router.post("/runs/{run}/stacks", response_model=RunStacks)
async def ask_for_stacks(run: str, body: StacksRequest, services: ServicesOf, hub: HubOf) -> Response:
    found = await poll(hub, topic(run), lambda: services.stacks.ask(run, body.key), lambda s: not s.missing, body.wait)
    return answer(found)


@router.get("/runs/{run}/story")
def get_story(run: str, services: ServicesOf) -> Response:
    return answer_list(services.runs.story(run))


@router.get("/runs/{run}/trials")
def list_trials(run: str, services: ServicesOf) -> Response:
    """List the trials of a sweep by number."""
    return answer_list(services.sweeps.trials(run))


@router.get("/runs/{run}/follow")
async def follow_run(
    run: str,
    services: ServicesOf,
    hub: HubOf,
    version: int = -1,
    log: str | None = None,
    offset: Annotated[int, Query(ge=0)] = 0,
    wait: float = 0.0,
) -> Response:
    def read() -> tuple[RunView, Tail]:
        return _read_for_follower(services, run, log, offset)

    def enough(seen: tuple[RunView, Tail]) -> bool:
        view, tail = seen
        return view.version > version or bool(tail.text) or view.status in TERMINAL

    view, tail = await poll(hub, f"run:{run}", read, enough, wait)
    body: dict[str, Any] = {"run": to_json(view), **to_json(tail)}
    return answer(body)


def _read_for_follower(services: Services, run: str, log: str | None, offset: int) -> tuple[RunView, Tail]:
    # The run first: when it is seen to have ended, the log read after that is whole.
    view = services.runs.view(run)
    return view, services.files.tail(run, log, offset)
