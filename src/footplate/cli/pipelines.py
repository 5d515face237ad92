"""`footplate pipelines`: pipelines, their steps, and why each step ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from footplate.cli.console import ago, duration, say
from footplate.cli.context import NEWEST, find_run, in_workspace_with_json, names_of
from footplate.cli.main import Noun, Unusable
from footplate.cli.tables import print_list, print_table
from footplate.domain.pipelines import reuse
from footplate.domain.runs.controllers import child_id
from footplate.sdk.handles import PIPELINE_RUN
from footplate.sdk.pipelines.pipeline_run import PipelineRun
from footplate.sdk.workspace import Workspace


@click.group(cls=Noun)
def pipelines() -> None:
    """List pipelines, and explain why their steps ran."""


@pipelines.command("list")
@in_workspace_with_json
def list_pipelines(workspace: Workspace, as_json: bool) -> None:
    """List pipelines, the newest first."""
    views = list(workspace.session.api.runs.list(workspace.id, type=PIPELINE_RUN))
    columns = ["pipeline", "status", "experiment", "created"]
    print_list(as_json, views, "no pipelines", columns, lambda v: [v.id, v.status, v.experiment, ago(v.created)])


@pipelines.command()
@click.argument("run_id", metavar="RUN", default=NEWEST, shell_complete=names_of("runs"))
@in_workspace_with_json
def explain(run_id: str, workspace: Workspace, as_json: bool) -> None:
    """Show each step of a pipeline: its state, and why it ran or from which run it was reused."""
    steps = _steps(_find(workspace, run_id))
    if as_json:
        print_list(True, steps, "", (), lambda step: [step])
        return
    columns = ["step", "status", "took", "reason", "run"]
    rows: Sequence[Sequence[Any]] = [
        [s["step"], s["status"], duration(s["seconds"]), s["reason"], s["run"]] for s in steps
    ]
    print_table(columns, rows, wrap=["reason"], drop=["took"], right=["took"])
    failed = [step for step in steps if step["status"] == "Failed"]
    if failed:
        say(f"look at the failed step with: footplate runs show {failed[0]['run']}")


def _find(workspace: Workspace, run_id: str) -> PipelineRun:
    if run_id == NEWEST:
        views = workspace.session.api.runs.list(workspace.id, type=PIPELINE_RUN, limit=1)
        newest = next(views, None)
        if newest is None:
            raise Unusable(
                f"workspace {workspace.name} has no pipelines", "submit one: Pipeline(ws, steps).submit(name)"
            )
        run_id = newest.id
    run, _ = find_run(workspace, run_id)
    if not isinstance(run, PipelineRun):
        raise Unusable(f"run {run.id} is not a pipeline", "see: footplate pipelines list")
    return run


def _steps(run: PipelineRun) -> list[dict[str, Any]]:
    """Return all steps in the order of the pipeline, also those that have not started."""
    views = {step.id: step.view for step in run.get_steps()}
    rows: list[dict[str, Any]] = []
    for key, step in run.pipeline.steps.items():
        view = views.get(child_id(run.id, key))
        if view is None:
            waits = [run.pipeline.steps[needed].name for needed in sorted(step.needs)]
            reason = f"needs {', '.join(waits)}" if waits else ""
            rows.append({"step": step.name, "status": "not started", "seconds": None, "reason": reason, "run": None})
            continue
        took = None if view.started is None or view.ended is None else view.ended - view.started
        reason = view.properties.get(reuse.REASON, "")
        rows.append({"step": step.name, "status": view.status, "seconds": took, "reason": reason, "run": view.id})
    return rows
