from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from fastapi import Depends, Query, Request, Response

from footplate.domain.records import RunView, StoryLine
from footplate.domain.replies import (
    DeletedRuns,
    FieldName,
    FieldValue,
    HeartbeatReply,
    RunCount,
    RunGroup,
    RunProgress,
)
from footplate.domain.runs.run_status import TERMINAL
from footplate.domain.stacks import RunStacks
from footplate.domain.tuning.sweeps import SweepAnalysis, TrialView
from footplate.errors import InvalidInput
from footplate.server.audit import note_detail
from footplate.server.authorization import author_of, check_run_change
from footplate.server.openapi import Page, Router
from footplate.server.responses import answer, answer_list
from footplate.server.rights import Right
from footplate.server.routes.parsing import (
    Body,
    HubOf,
    PrincipalOf,
    Repeated,
    ServicesOf,
    StrictCause,
    StrictSpec,
    pairs,
    poll,
)
from footplate.services.topics import RunChanged, RunTurned, StacksAnswered
from footplate.storage import RunQuery

router = Router("runs")


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
    parameters: dict[str, str] | None = None
    archived: bool | None = None


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


@router.post("/workspaces/{workspace}/runs", Right.SUBMIT_RUNS, RunView)
def submit_run(
    workspace: str, body: NewRun, request: Request, services: ServicesOf, principal: PrincipalOf
) -> Response:
    """Submit a run. The same id and spec return the same run; another spec is a conflict.

    The principal is its submitter, and the submitter of a run is that of the runs it submits; `created_by` of older
    clients is ignored.
    """
    note_detail(request, body.id)
    author = author_of(principal, services)
    if body.spec.parent is not None:
        check_run_change(principal, body.spec.parent, services)
    services.runs.submit(workspace, body.id, body.spec, author.created_by, principal.run, person=author.person)
    return answer(services.runs.view(body.id))


_REPEATED_FILTERS = ("status", "tag", "property", "show")


async def _filters(
    request: Request,
    workspace: str,
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
    archived: bool | None = None,
    where: str | None = None,
) -> RunQuery:
    names = [name for name, _ in request.query_params.multi_items() if name not in _REPEATED_FILTERS]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidInput(f"the filter {twice!r} is given {names.count(twice)} times", "give it once, or use where=")
    return RunQuery(
        workspace=workspace, experiment=experiment, prefix=prefix, type=type, status=status, tags=pairs(tag),
        properties=pairs(property), parent=parent, ancestor=ancestor, metric=metric, metric_min=metric_min,
        metric_max=metric_max, archived=archived, where=where,
    )  # fmt: skip


FiltersOf = Annotated[RunQuery, Depends(_filters)]


@router.get("/workspaces/{workspace}/runs", Right.READ_WORKSPACE, Page(RunView))
def list_runs(
    services: ServicesOf,
    filters: FiltersOf,
    show: Repeated = (),
    order: str = "created",
    ascending: bool = False,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: str | None = None,
) -> Response:
    """List runs without their specs, newest first.

    `where` is a filter such as `metrics.loss < 0.2 and status == Completed`. `order` is a field as in a filter, such as
    `params.lr`, `ended`, `min(metrics.loss)` or `best(metrics.loss)`, which is the minimum when ascending; runs without
    a value come last. The last values and ranges of the metric that the query names, and of those in `show`, are
    returned; `show=*` returns all.
    """
    query = replace(filters, show=show, order=order, ascending=ascending, limit=limit, cursor=cursor)
    views, following = services.runs.list(query)
    return answer_list(views, following, tag_non_finite=True)


@router.get("/workspaces/{workspace}/runs/count", Right.READ_WORKSPACE, RunCount)
def count_runs(
    services: ServicesOf, filters: FiltersOf, up_to: Annotated[int, Query(ge=1, le=10_000_000)] = 10_000
) -> Response:
    """Count the runs that a list with the same filters contains, up to a limit."""
    return answer(services.runs.count(filters, up_to))


@router.get("/workspaces/{workspace}/runs/names", Right.READ_WORKSPACE, Page(FieldName))
def list_field_names(
    workspace: str,
    services: ServicesOf,
    kind: Literal["metrics", "params", "tags", "properties"],
    prefix: str = "",
    experiment: str | None = None,
    limit: Annotated[int, Query(ge=1, le=20_000)] = 100,
) -> Response:
    """List names of metrics, parameters, tags or properties that runs have, in alphabetical order.

    `prefix` is compared without regard to case.
    """
    return answer_list(services.runs.field_names(workspace, kind, experiment, prefix, limit))


@router.get("/workspaces/{workspace}/runs/values", Right.READ_WORKSPACE, Page(FieldValue))
def list_field_values(
    workspace: str,
    services: ServicesOf,
    field: str,
    prefix: str = "",
    experiment: str | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
) -> Response:
    """List values of a field such as `tags.model` or `status`, most frequent first, among the newest 5,000 runs."""
    return answer_list(services.runs.field_values(workspace, field, experiment, prefix, limit))


@router.get("/workspaces/{workspace}/runs/groups", Right.READ_WORKSPACE, Page(RunGroup))
def group_runs(
    services: ServicesOf,
    filters: FiltersOf,
    by: str,
    show: Repeated = (),
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Group the runs of a list by a field such as `params.lr`, the largest group first.

    Each group has minimum, mean and maximum of the last values of the metrics in `show`.
    """
    return answer_list(services.runs.groups(replace(filters, show=show), by, limit))


@router.get("/runs/{run}", Right.READ_RUNS, RunView)
async def get_run(
    run: str, services: ServicesOf, hub: HubOf, version: int = -1, wait: float = 0.0, until: str = "change"
) -> Response:
    """Return a run, and wait for a change if requested.

    `until=ended` waits for the end only: a client that needs no steps in between does not slow the run down.
    """

    def enough(view: RunView) -> bool:
        return view.status in TERMINAL if until == "ended" else view.version > version

    topic = RunTurned(run) if until == "ended" else RunChanged(run)
    return answer(await poll(hub, topic, lambda: services.runs.view(run), enough, wait))


@router.patch("/runs/{run}", Right.CHANGE_RUNS, RunView)
def change_run(run: str, body: RunChange, services: ServicesOf) -> Response:
    """Change names, tags, properties or parameters of a run, or archive it. Properties are written once."""
    return answer(services.runs.change(run, **dict(body)))


@router.delete("/runs/{run}", Right.DELETE_RUNS, DeletedRuns)
def delete_run(run: str, services: ServicesOf, force: bool = False) -> Response:
    """Delete a run that has ended, and its descendants; with `force`, even if models were made by them."""
    deleted = services.runs.delete(run, force)
    services.ownership.forget()
    return answer(deleted)


@router.post("/runs/{run}/cancel", Right.CHANGE_RUNS, RunView)
def cancel_run(run: str, services: ServicesOf, principal: PrincipalOf, body: CancelRequest | None = None) -> Response:
    """Cancel a run and its children."""
    body = body or CancelRequest()
    return answer(services.runs.cancel(run, author_of(principal, services).created_by, body.reason))


@router.post("/runs/{run}/restart", Right.CHANGE_RUNS, RunView)
def restart_run(run: str, body: RestartRequest, services: ServicesOf, principal: PrincipalOf) -> Response:
    """Start the given attempt of a run that has failed or was canceled."""
    return answer(services.runs.restart(run, body.attempt, author_of(principal, services).created_by, body.reason))


@router.post("/runs/{run}/complete", Right.CHANGE_RUNS, RunView)
def complete_run(run: str, services: ServicesOf) -> Response:
    """End an interactive run as completed."""
    return answer(services.runs.complete(run))


@router.post("/runs/{run}/fail", Right.CHANGE_RUNS, RunView)
def fail_run(run: str, body: FailRequest, services: ServicesOf) -> Response:
    """End an interactive run as failed."""
    return answer(services.runs.fail(run, body.cause))


@router.post("/runs/{run}/heartbeat", Right.LOG_RUNS, HeartbeatReply)
def beat_as_client(run: str, services: ServicesOf) -> Response:
    """Record that the process of an interactive run lives; return whether the run has ended."""
    return answer(HeartbeatReply(services.runs.heartbeat(run)))


@router.post("/runs/{run}/snapshot", Right.LOG_RUNS, RunView)
def set_snapshot(run: str, body: SnapshotRequest, services: ServicesOf) -> Response:
    """Set the snapshot of a run, once."""
    return answer(services.runs.set_snapshot(run, body.snapshot))


@router.post("/runs/{run}/warnings", Right.LOG_RUNS, RunView)
def warn_run(run: str, body: WarningRequest, services: ServicesOf) -> Response:
    """Add a warning to a run."""
    return answer(services.runs.warn(run, body.message))


@router.post("/runs/{run}/stacks", Right.LOG_RUNS, RunStacks)
async def ask_for_stacks(run: str, body: StacksRequest, services: ServicesOf, hub: HubOf) -> Response:
    """Request the stack traces of a run, or collect the answers to the same `key`."""

    def ask() -> RunStacks:
        return services.stacks.ask(run, body.key)

    return answer(await poll(hub, StacksAnswered(run), ask, lambda stacks: not stacks.missing, body.wait))


@router.get("/runs/{run}/story", Right.READ_RUNS, Page(StoryLine))
def get_story(run: str, services: ServicesOf) -> Response:
    """List the events of a run."""
    return answer_list(services.runs.story(run))


@router.get("/runs/{run}/trials", Right.READ_RUNS, Page(TrialView))
def list_trials(run: str, services: ServicesOf) -> Response:
    """List the trials of a sweep by number."""
    return answer_list(services.sweeps.trials(run))


@router.get("/runs/{run}/sweep-analysis", Right.READ_RUNS, SweepAnalysis)
def analyze_sweep(run: str, services: ServicesOf) -> Response:
    """Return the best trials of a sweep, the importance of its parameters, and all values side by side."""
    return answer(services.sweeps.analysis(run))


@router.get("/runs/{run}/follow", Right.READ_RUNS, RunProgress)
async def follow_run(
    run: str,
    services: ServicesOf,
    hub: HubOf,
    version: int = -1,
    log: str | None = None,
    offset: Annotated[int, Query(ge=0)] = 0,
    wait: float = 0.0,
) -> Response:
    """Return a run and its log from `offset`; wait for news in either if requested."""

    def read() -> RunProgress:
        # The run first: the log that is read after the run has ended is complete.
        view = services.runs.view(run)
        tail = services.files.tail(run, log, offset)
        return RunProgress(view, tail.log, tail.offset, tail.text)

    def enough(seen: RunProgress) -> bool:
        return seen.run.version > version or bool(seen.text) or seen.run.status in TERMINAL

    return answer(await poll(hub, RunChanged(run), read, enough, wait))
