"""Commands about one run: look at it, end it, run it again."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from footplate.cli.console import (
    ago,
    counted,
    duration,
    emit,
    emit_or_echo,
    emit_or_say,
    is_within,
    number,
    print_pairs,
    say,
    size,
    tag_words,
    when,
    with_options,
)
from footplate.cli.context import (
    find_run,
    find_view,
    folder_option,
    in_workspace_with_json,
    names_of,
    parse_pairs,
    run_argument,
    stream_option,
    tags_option,
    wait_option,
    with_metrics,
)
from footplate.cli.follow import describe_start
from footplate.cli.run import wait_for
from footplate.cli.runs.group import runs
from footplate.cli.stacks import show_stacks
from footplate.cli.tables import print_list, print_table
from footplate.domain.floats import untag_float
from footplate.domain.orders import CHECKPOINTS, checkpoint_folders
from footplate.domain.records import NodeRecord, RunView
from footplate.domain.runs import run_status
from footplate.domain.runs.run_status import TERMINAL
from footplate.sdk.display.status_line import Live
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.runs import snapshots
from footplate.sdk.session import Session, user_name
from footplate.sdk.workspace import Workspace

_MLFLOW = "mlflow."
_NAMED_CHILDREN = 3
"""Tags that MLflow sets for itself, up to kilobytes of JSON; `runs tag` and `--json` show them."""


@runs.command()
@run_argument
@in_workspace_with_json
def show(run_id: str, workspace: Workspace, as_json: bool) -> None:
    """Show a run."""
    view = find_view(workspace, run_id)
    view = with_metrics(workspace.session, view)
    if as_json:
        emit(view)
        return
    page = workspace.session.portal_url(view.workspace, f"runs/{view.id}")
    related = [("page", page), ("children", _children(workspace.session, view)), *_data(workspace.session, view)]
    print_pairs([*_identity(view), *related, ("checkpoints", _checkpoints(workspace.session, view)), *_reasons(view)])


def _reasons(view: RunView) -> list[tuple[str, Any]]:
    cause = view.outcome.cause if view.outcome else None
    if cause is None:
        return []
    last = "" if cause.traceback else "".join(f"\n{line}" for line in cause.last_lines)
    return [
        ("because", cause.message),
        ("hint", cause.hint and with_options(cause.hint)),
        ("traceback", cause.traceback and "\n" + cause.traceback),
        ("last lines", last),
    ]


def _identity(view: RunView) -> list[tuple[str, Any]]:
    place = f"position {view.waiting.position}: " if view.waiting and view.waiting.position else ""
    # The cluster's estimate of the start. In our own queue, `latest` is a bound and not an estimate.
    start = describe_start(view.waiting.latest) if view.waiting and view.status == "Provisioning" else ""
    waiting = f"{place}{view.waiting.reason}{start}" if view.waiting else None
    program = view.spec.program if view.spec else None
    script = " ".join([program.script, *program.arguments]) if program and program.script else None
    return [
        ("id", view.id),
        ("name", view.display_name or view.name),
        ("status", run_status.visible_status(view.status, view.waiting)),
        ("attempt", view.attempt if view.attempt > 1 else None),
        ("waiting", waiting),
        ("experiment", view.experiment),
        ("script", script),
        ("command", program.command if program else None),
        ("target", view.target),
        ("created", f"{when(view.created)} ({ago(view.created)})"),
        ("took", duration((view.ended or time.time()) - view.started) if view.started else None),
        ("by", view.created_by),
        ("parent", view.parent),
        ("nodes", "\n".join(map(describe_node, view.nodes))),
        ("parameters", tag_words(dict(view.parameters))),
        ("metrics", ", ".join(_metric(name, untag_float(value)) for name, value in view.metrics.items())),
        ("note", view.description),
        ("archived", when(view.archived)),
        ("snapshot", view.snapshot and view.snapshot[:12]),
        ("commit", _commit(view.properties)),
        ("tags", tag_words({key: text for key, text in view.tags.items() if not key.startswith(_MLFLOW)})),
        ("warnings", "; ".join(view.warnings)),
    ]


def _metric(name: str, last: Any) -> str:
    """Return name and value; lists, tables and images have only a name here."""
    return name if last is None else f"{name}={number(last)}"


def _commit(properties: Mapping[str, str]) -> str | None:
    """Return the commit of the source folder's git repository."""
    facts = {name: properties.get(f"azureml.git.{name}") for name in ("commit", "branch", "dirty")}
    if not facts["commit"]:
        return None
    branch = f" on {facts['branch']}" if facts["branch"] else ""
    return facts["commit"][:12] + branch + (", with uncommitted changes" if facts["dirty"] == "True" else "")


def describe_node(node: NodeRecord) -> str:
    """Describe a node in one line: state, host, GPUs, and what it does or waits for."""
    place = f" on {node.host}" if node.host else ""
    gpus = f", {len(node.gpus)} of {counted(node.info.get('gpus', 0), 'GPU')}" if node.gpus else ""
    doing = f": {node.message}" if node.message else ""
    return f"{node.index}: {node.state.value}{place}{gpus}{doing}"


def _data(session: Session, view: RunView) -> list[tuple[str, Any]]:
    uses = session.api.datasets.of_run(view.id)
    named = [(use.role, f"{use.dataset_name}:{use.version}" if use.dataset_name else use.dataset) for use in uses]
    return [(verb, ", ".join(name for role, name in named if role == verb)) for verb in ("read", "wrote")]


def _children(session: Session, view: RunView) -> str | None:
    """Return number and ids of the child runs, the oldest first. `runs list --children` has all of them."""
    if not view.has_children:
        return None
    total = session.api.runs.count(view.workspace, parent=view.id)
    oldest = session.api.runs.list(view.workspace, parent=view.id, ascending=True, limit=_NAMED_CHILDREN)
    ids = [child.id for child in itertools.islice(oldest, _NAMED_CHILDREN)]
    number = f"more than {total.count} runs" if total.more else counted(total.count, "run")
    return f"{number}: {', '.join(ids)}{', …' if total.count > len(ids) else ''}"


def _checkpoints(session: Session, view: RunView) -> str | None:
    """Return number, size and age of the files that the next attempt begins with."""
    folders = {f"{folder}/" for folder in checkpoint_folders(max(1, len(view.nodes)))}
    saved_files = [
        f for f in session.api.files.list(view.id, CHECKPOINTS) if f.path.startswith(tuple(folders)) and f.digest
    ]
    if not saved_files:
        return None
    saved = max(file.modified or 0.0 for file in saved_files)
    return f"{counted(len(saved_files), 'file')}, {size(sum(file.size for file in saved_files))}, saved {ago(saved)}"


@runs.command()
@run_argument
@click.option(
    "--prefix",
    default="",
    metavar="PATH",
    shell_complete=names_of("files"),
    help="Only files whose path starts with this.",
)
@in_workspace_with_json
def files(run_id: str, prefix: str, workspace: Workspace, as_json: bool) -> None:
    """List the files and logs of a run."""
    view = find_view(workspace, run_id)
    views = list(workspace.session.api.files.list(view.id, prefix))
    columns = ["path", "size", "modified"]
    print_list(as_json, views, "no files", columns, lambda f: [f.path, size(f.size), when(f.modified)], right=["size"])


@runs.command()
@run_argument
@click.argument("paths", nargs=-1, shell_complete=names_of("files"))
@folder_option
@in_workspace_with_json
def download(run_id: str, paths: tuple[str, ...], folder: str, workspace: Workspace, as_json: bool) -> None:
    """Download files of a run.

    PATHS are files or folders of the run; by default all of them. They keep their paths below the target folder.
    """
    run, view = find_run(workspace, run_id)
    names = run.get_file_names()
    chosen = [n for n in names if not paths or any(is_within(n, p) for p in paths)]
    unknown = [p for p in paths if not any(is_within(n, p) for n in names)]
    if unknown:
        raise UserErrorException(
            f"run {view.id} has no file or folder {unknown[0]!r}",
            hint=f"list its files with: footplate runs files {view.id}",
        )
    written = [str(Path(folder) / name) for name in chosen]
    with Live() as live:
        for at, (name, target) in enumerate(zip(chosen, written, strict=True), 1):
            live.show(f"downloading {at} of {len(chosen)}: {name}")
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            run.download_file(name, target)
    emit_or_echo(as_json, written, "\n".join(written))


@runs.command()
@run_argument
@click.option("--to", "folder", type=click.Path(), help="A new or empty folder.  [default: RUN-code, in this folder]")
@in_workspace_with_json
def snapshot(run_id: str, folder: str | None, workspace: Workspace, as_json: bool) -> None:
    """Restore the code of a run: the files of the source folder as they were when it was submitted."""
    view = find_view(workspace, run_id)
    if view.snapshot is None:
        raise UserErrorException(f"run {view.id} has no snapshot", hint="runs that submit a script have one")
    target = folder or f"{view.id}-code"
    count = snapshots.restore_folder(workspace.session, view.snapshot, target)
    place = os.path.abspath(target)
    emit_or_say(as_json, {"folder": place, "files": count}, f"{counted(count, 'file')} in {place}")


@runs.command()
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True, shell_complete=names_of("runs"))
@click.option("--reason", default="", metavar="TEXT", help="The reason, for the run's story.")
@in_workspace_with_json
def cancel(run_ids: tuple[str, ...], reason: str, workspace: Workspace, as_json: bool) -> None:
    """Cancel runs and their children."""
    ended: list[Any] = []
    for run_id in run_ids:
        view = find_view(workspace, run_id)
        after = workspace.session.api.runs.cancel(view.id, user_name(), reason)
        ended.append(after)
        if view.status in TERMINAL:
            say(f"{view.id} had already ended: {view.status}")
        else:
            say(f"{view.id}: {after.status}")
    if as_json:
        emit(ended)


@runs.command()
@run_argument
@click.option("--reason", default="", metavar="TEXT", help="The reason, for the run's story.")
@in_workspace_with_json
def restart(run_id: str, reason: str, workspace: Workspace, as_json: bool) -> None:
    """Retry a failed or canceled run.

    It keeps its id; metrics and logs continue, and ./outputs contains what the last attempt left there.
    """
    run, view = find_run(workspace, run_id)
    if view.status not in ("Failed", "Canceled"):
        hint = "to run it again as a new run: footplate runs rerun " + view.id
        if view.status != "Completed":
            hint = f"cancel it first with: footplate runs cancel {view.id}"
        raise UserErrorException(
            f"only a failed or canceled run can be restarted, and {view.id} is {view.status}", hint=hint
        )
    run.restart(reason)
    if as_json:
        emit(find_view(workspace, view.id))
    else:
        say(f"{view.id}: attempt {run.attempt}")
        say(f"watch it with: footplate runs logs -f {view.id}")


@runs.command()
@run_argument
@click.option("--rank", type=int, metavar="N", help="Only the processes of this rank.")
@click.option("--timeout", default=30.0, show_default=True, metavar="SECONDS", help="How long to wait for the nodes.")
@in_workspace_with_json
def stacks(run_id: str, rank: int | None, timeout: float, workspace: Workspace, as_json: bool) -> None:
    """Show stack traces of a run's processes, even if it hangs.

    Prints the Python stack of every thread of every rank and its child processes, innermost call last.
    """
    run, view = find_run(workspace, run_id)
    processes = [each for each in run.get_stacks(timeout) if rank is None or each.rank == rank]
    if as_json:
        emit(processes)
    elif not processes:
        say(f"{view.id} has no processes" + ("" if rank is None else f" of rank {rank}"))
    else:
        show_stacks(processes, {node.index: node.host or "" for node in view.nodes})


@runs.command()
@run_argument
@click.argument("arguments", nargs=-1, metavar="[-- ARGUMENTS...]")
@tags_option
@wait_option
@stream_option
@in_workspace_with_json
def rerun(
    run_id: str,
    arguments: tuple[str, ...],
    tags: tuple[str, ...],
    wait: bool,
    stream: bool,
    workspace: Workspace,
    as_json: bool,
) -> int:
    """Run a run again in exactly the same environment.

    Source folder, settings and package versions are those of RUN. Arguments after `--` replace the script's.
    """
    run, _ = find_run(workspace, run_id)
    again = run.rerun(arguments or None, tags=parse_pairs(tags, "--tag"))
    session = again.experiment.workspace.session
    if wait:
        return wait_for(session, again.id, stream, as_json)
    if as_json:
        emit(session.api.runs.get(again.id))
        return 0
    click.echo(again.id)
    say(f"watch it with: footplate runs logs -f {again.id}")
    return 0


@runs.command()
@run_argument
@in_workspace_with_json
def story(run_id: str, workspace: Workspace, as_json: bool) -> None:
    """Print everything that happened to a run."""
    view = find_view(workspace, run_id)
    lines = list(workspace.session.api.runs.story(view.id))
    if as_json:
        emit(lines)
    else:
        rows = [[when(s.time), f"{s.time - lines[0].time:.2f}s", s.status, s.text] for s in lines]
        print_table(["time", "after", "status", "what happened"], rows, right=["after"], wrap=["what happened"])
