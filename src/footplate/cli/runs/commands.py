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
    is_within,
    number,
    pairs,
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
    json_option,
    names_of,
    parse_pairs,
    read_run,
    run_argument,
    stream_option,
    tags_option,
    wait_option,
    with_metrics,
    workspace_option,
)
from footplate.cli.follow import expected
from footplate.cli.run import wait_for
from footplate.cli.runs.group import runs
from footplate.cli.stacks import show_stacks
from footplate.cli.tables import table
from footplate.domain.codec import to_json
from footplate.domain.floats import untag_float
from footplate.domain.orders import CHECKPOINTS, checkpoint_folders
from footplate.domain.records import NodeRecord, RunView
from footplate.domain.runs import run_status
from footplate.domain.runs.run_status import TERMINAL
from footplate.sdk.display.status_line import Live
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.runs import snapshots
from footplate.sdk.session import Session, user_name

_MLFLOW = "mlflow."
_NAMED_CHILDREN = 3
"""Tags that MLflow sets for itself, up to kilobytes of JSON; `runs tag` and `--json` show them."""


@runs.command()
@run_argument
@workspace_option
@json_option
def show(run_id: str, workspace_name: str | None, as_json: bool) -> None:
    """Show a run."""
    session, view = find_view(run_id, workspace_name)
    view = with_metrics(session, view)
    if as_json:
        emit(to_json(view))
        return
    related = [("children", _children(session, view)), *_data(session, view)]
    pairs([*_identity(view), *related, ("checkpoints", _checkpoints(session, view)), *_reasons(view)])


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
    waiting = f"{place}{view.waiting.reason}{_estimate(view)}" if view.waiting else None
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


def _estimate(view: RunView) -> str:
    """Return the cluster's estimate of the start. In our own queue, `latest` is a bound and not an estimate."""
    return expected(view.waiting.latest) if view.waiting and view.status == "Provisioning" else ""


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
    found = [f for f in session.api.files.list(view.id, CHECKPOINTS) if f.path.startswith(tuple(folders)) and f.digest]
    if not found:
        return None
    saved = max(file.modified or 0.0 for file in found)
    return f"{counted(len(found), 'file')}, {size(sum(file.size for file in found))}, saved {ago(saved)}"


@runs.command()
@run_argument
@click.option(
    "--prefix",
    default="",
    metavar="PATH",
    shell_complete=names_of("files"),
    help="Only files whose path starts with this.",
)
@workspace_option
@json_option
def files(run_id: str, prefix: str, workspace_name: str | None, as_json: bool) -> None:
    """List the files and logs of a run."""
    session, view = find_view(run_id, workspace_name)
    found = list(session.api.files.list(view.id, prefix))
    if as_json:
        emit(found)
    elif not found:
        say("no files")
    else:
        table(
            ["path", "size", "modified"],
            [[f.path, size(f.size), when(f.modified)] for f in found],
            right=["size"],
        )


@runs.command()
@run_argument
@click.argument("paths", nargs=-1, shell_complete=names_of("files"))
@folder_option
@workspace_option
@json_option
def download(run_id: str, paths: tuple[str, ...], folder: str, workspace_name: str | None, as_json: bool) -> None:
    """Download files of a run.

    PATHS are files or folders of the run; by default all of them. They keep their paths below the target folder.
    """
    run, view = find_run(run_id, workspace_name)
    names = run.get_file_names()
    wanted = [n for n in names if not paths or any(is_within(n, p) for p in paths)]
    unknown = [p for p in paths if not any(is_within(n, p) for n in names)]
    if unknown:
        raise UserErrorException(
            f"run {view.id} has no file or folder {unknown[0]!r}",
            hint=f"list its files with: footplate runs files {view.id}",
        )
    written = [str(Path(folder) / name) for name in wanted]
    with Live() as live:
        for at, (name, target) in enumerate(zip(wanted, written, strict=True), 1):
            live.show(f"downloading {at} of {len(wanted)}: {name}")
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            run.download_file(name, target)
    if as_json:
        emit(written)
    else:
        click.echo("\n".join(written))


@runs.command()
@run_argument
@click.option("--to", "folder", type=click.Path(), help="A new or empty folder.  [default: RUN-code, in this folder]")
@workspace_option
@json_option
def snapshot(run_id: str, folder: str | None, workspace_name: str | None, as_json: bool) -> None:
    """Restore the code of a run: the files of the source folder as they were when it was submitted."""
    session, view = find_view(run_id, workspace_name)
    if view.snapshot is None:
        raise UserErrorException(f"run {view.id} has no snapshot", hint="runs that submit a script have one")
    target = folder or f"{view.id}-code"
    count = snapshots.restore_folder(session, view.snapshot, target)
    if as_json:
        emit({"folder": os.path.abspath(target), "files": count})
    else:
        say(f"{counted(count, 'file')} in {os.path.abspath(target)}")


@runs.command()
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True, shell_complete=names_of("runs"))
@click.option("--reason", default="", metavar="TEXT", help="The reason, for the run's story.")
@workspace_option
@json_option
def cancel(run_ids: tuple[str, ...], reason: str, workspace_name: str | None, as_json: bool) -> None:
    """Cancel runs and their children."""
    ended: list[Any] = []
    for run_id in run_ids:
        session, view = find_view(run_id, workspace_name)
        after = session.api.runs.cancel(view.id, user_name(), reason)
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
@workspace_option
@json_option
def restart(run_id: str, reason: str, workspace_name: str | None, as_json: bool) -> None:
    """Retry a failed or canceled run.

    It keeps its id; metrics and logs continue, and ./outputs contains what the last attempt left there.
    """
    run, view = find_run(run_id, workspace_name)
    if view.status not in ("Failed", "Canceled"):
        hint = "to run it again as a new run: footplate runs rerun " + view.id
        if view.status != "Completed":
            hint = f"cancel it first with: footplate runs cancel {view.id}"
        raise UserErrorException(
            f"only a failed or canceled run can be restarted, and {view.id} is {view.status}", hint=hint
        )
    run.restart(reason)
    if as_json:
        emit(to_json(find_view(view.id, workspace_name)[1]))
    else:
        say(f"{view.id}: attempt {run.attempt}")
        say(f"watch it with: footplate runs logs -f {view.id}")


@runs.command()
@run_argument
@click.option("--rank", type=int, metavar="N", help="Only the processes of this rank.")
@click.option("--timeout", default=30.0, show_default=True, metavar="SECONDS", help="How long to wait for the nodes.")
@workspace_option
@json_option
def stacks(run_id: str, rank: int | None, timeout: float, workspace_name: str | None, as_json: bool) -> None:
    """Show stack traces of a run's processes, even if it hangs.

    Prints the Python stack of every thread of every rank and its child processes, innermost call last.
    """
    run, view = find_run(run_id, workspace_name)
    found = [each for each in run.get_stacks(timeout) if rank is None or each.rank == rank]
    if as_json:
        emit([to_json(each) for each in found])
    elif not found:
        say(f"{view.id} has no processes" + ("" if rank is None else f" of rank {rank}"))
    else:
        show_stacks(found, {node.index: node.host or "" for node in view.nodes})


@runs.command()
@run_argument
@click.argument("arguments", nargs=-1, metavar="[-- ARGUMENTS...]")
@tags_option
@wait_option
@stream_option
@workspace_option
@json_option
def rerun(
    run_id: str,
    arguments: tuple[str, ...],
    tags: tuple[str, ...],
    wait: bool,
    stream: bool,
    workspace_name: str | None,
    as_json: bool,
) -> int:
    """Run a run again in exactly the same environment.

    Source folder, settings and package versions are those of RUN. Arguments after `--` replace the script's.
    """
    run, _ = find_run(run_id, workspace_name)
    again = run.rerun(arguments or None, tags=parse_pairs(tags, "--tag"))
    session = again.experiment.workspace.session
    if wait:
        return wait_for(session, again.id, stream, as_json)
    if as_json:
        emit(to_json(read_run(session, again.id)))
        return 0
    click.echo(again.id)
    say(f"watch it with: footplate runs logs -f {again.id}")
    return 0


@runs.command()
@run_argument
@workspace_option
@json_option
def story(run_id: str, workspace_name: str | None, as_json: bool) -> None:
    """Print everything that happened to a run."""
    session, view = find_view(run_id, workspace_name)
    lines = list(session.api.runs.story(view.id))
    if as_json:
        emit(lines)
    else:
        rows = [[when(s.time), f"{s.time - lines[0].time:.2f}s", s.status, s.text] for s in lines]
        table(["time", "after", "status", "what happened"], rows, right=["after"], wrap=["what happened"])
