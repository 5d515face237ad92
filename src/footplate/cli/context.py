"""Options that commands share, and finding the workspace and the run that a command is about."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import os
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from footplate import environ
from footplate.cli.console import is_terminal, say
from footplate.client import home as homes
from footplate.client.launcher import server_status
from footplate.domain.records import RunView
from footplate.domain.runs.run_filter import quote, read_seconds
from footplate.errors import FootplateError, NotFound
from footplate.sdk.config import workspace_file
from footplate.sdk.environments.environment import Environment
from footplate.sdk.exceptions import AzureMLException, UserErrorException
from footplate.sdk.run import Run
from footplate.sdk.session import Session
from footplate.sdk.workspace import Workspace

NEWEST = "latest"
_NAMED = 5  # runs named in the error about an ambiguous id

_OFFERED = 50  # names shown by Tab
_PAGE = 1000  # the most runs that one request returns


def names_of(noun: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return the completion for names of runs, models, datasets and the like.

    It offers nothing if no server is running or anything fails: Tab must not wait.
    """

    def offer(ctx: click.Context, _: click.Parameter, start: str) -> list[str]:
        try:
            if not server_status(homes.home_folder())["running"] or workspace_file.read(workspace_file.find()).server:
                return []
            workspace = open_workspace(ctx.params.get("workspace_name"))
            run = ctx.params.get("run_id") or next(iter(ctx.params.get("run_ids") or ()), None)
            names = _names(workspace, noun, run, start)
            return list(itertools.islice(dict.fromkeys(n for n in names if n.startswith(start)), _OFFERED))
        except (AzureMLException, FootplateError, OSError):
            return []

    return offer


def _names(workspace: Workspace, noun: str, run: str | None, start: str) -> Iterable[str]:
    """Return the names of a noun; metrics and files are those of the run on the command line."""
    api = workspace.session.api
    if noun == "runs":
        return [view.id for view in list_runs(workspace, _OFFERED, prefix=start)]
    if noun == "workspaces":
        return [view.name for view in api.workspaces.list()]
    if noun in ("metrics", "files"):
        view = find_view(workspace, run or NEWEST)
        if noun == "files":
            return [file.path for file in api.files.list(view.id, prefix=start)]
        return [each.name for each in api.metrics.summary(view.id)]
    return [item.name for item in getattr(api, noun).list(workspace.id)]


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
workspace_option = click.option(
    "-w",
    "--workspace",
    "workspace_name",
    metavar="NAME",
    shell_complete=names_of("workspaces"),
    help="The workspace.  [default: that of this folder]",
)
tags_option = click.option("--tag", "tags", multiple=True, metavar="KEY=VALUE", help="A tag; repeatable.")
tag_filter_option = click.option(
    "--tag",
    "tags",
    multiple=True,
    metavar="KEY[=VALUE]",
    help="Only those with this tag; repeatable. Write = in a key as %3D.",
)
folder_option = click.option(
    "--to",
    "folder",
    default=".",
    show_default="this folder",
    type=click.Path(file_okay=False),
    help="The folder to write to.",
)
wait_option = click.option(
    "--wait/--no-wait", help="Wait for the run to end and exit with its code.  [default: --no-wait]"
)
stream_option = click.option(
    "--stream/--no-stream", default=True, show_default=True, help="With --wait: print the log as it grows."
)


def in_workspace(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --workspace, and call the command with the open workspace."""

    @functools.wraps(command)
    def call(*arguments: Any, workspace_name: str | None, **options: Any) -> Any:
        return command(*arguments, workspace=open_workspace(workspace_name), **options)

    return workspace_option(call)


def in_workspace_with_json(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --workspace and --json, and call the command with the open workspace."""
    return in_workspace(json_option(command))


yes_option = click.option("-y", "--yes", is_flag=True, help="Do not ask; required in a pipe.")
run_argument = click.argument("run_id", metavar="RUN", shell_complete=names_of("runs"))


@contextlib.contextmanager
def patiently(seconds: float = 2.0) -> Generator[None, None, None]:
    """Show a message while the block waits for a server that does not answer yet: it may be starting."""
    timer = threading.Timer(seconds, say, ["waiting for the server …"])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def open_workspace(name: str | None = None) -> Workspace:
    """Return the workspace with this name, or the one this folder's configuration names, or the only one."""
    with patiently():
        if name is not None:
            return Workspace.get(name, server=server_of_folder())
        try:
            path = workspace_file.find()
        except UserErrorException as missing:
            return _only_workspace(missing)
        return Workspace.from_config(path)


def server_of_folder() -> str | None:
    """Return the address of the team server that this folder belongs to; None for that of the home folder."""
    if os.environ.get(environ.RUN_ID):  # a job talks to the server of its run
        return None
    try:
        return workspace_file.read(workspace_file.find()).server
    except UserErrorException:
        return None


def _only_workspace(missing: UserErrorException) -> Workspace:
    workspaces = [workspace for same_name in Workspace.list().values() for workspace in same_name]
    if len(workspaces) == 1:
        return workspaces[0]
    if not workspaces:
        raise missing
    names = ", ".join(sorted(workspace.name for workspace in workspaces))
    raise UserErrorException(
        f"this folder belongs to no workspace, and there are {len(workspaces)}: {names}",
        hint="choose one with --workspace, or set one for this folder with: footplate init --name NAME",
    )


def find_run(workspace: Workspace, run_id: str) -> tuple[Run, RunView]:
    """Return the run with this id, a unique part of it, or `latest`."""
    view = find_view(workspace, run_id)
    return workspace.get_run(view.id), view


def find_view(workspace: Workspace, run_id: str) -> RunView:
    """Return the view of a run, for commands that only read."""
    if run_id == NEWEST:
        return workspace.session.api.runs.get(_newest(workspace))
    try:
        return workspace.session.api.runs.get(run_id)
    except AzureMLException as error:
        if not isinstance(error.inner_exception, NotFound):
            raise
        return workspace.session.api.runs.get(_whole_id(workspace, run_id, error))


def with_metrics(session: Session, view: RunView) -> RunView:
    """Return the view with the last values of all metrics."""
    summaries = session.api.metrics.summary(view.id)
    return replace(view, metrics={one.name: one.last for one in summaries if not one.system})


def seconds_of(text: str, option: str) -> float:
    """Return the seconds of a duration such as `10m`."""
    seconds = read_seconds(text)
    if seconds is None:
        raise click.BadParameter(f"{text!r} is not a duration such as 30s, 10m or 2h", param_hint=option)
    return seconds


def _newest(workspace: Workspace) -> str:
    for view in list_runs(workspace, 1, parent="none"):
        return view.id
    raise UserErrorException(
        f"workspace {workspace.name} has no runs", hint="submit one with: footplate run --wait SCRIPT"
    )


def _whole_id(workspace: Workspace, start: str, unknown: AzureMLException) -> str:
    """Return the id that starts with this text; if none does, the one that contains it."""
    ids = [view.id for view in list_runs(workspace, _NAMED + 1, prefix=start)]
    if not ids:
        ids = [view.id for view in list_runs(workspace, _NAMED + 1, where=f"id ~ {quote(start)}")]
    if not ids:
        raise UserErrorException(
            f"workspace {workspace.name} has no run whose id contains {start!r}",
            unknown,
            hint="list runs with: footplate runs list",
        )
    if len(ids) > 1:
        many = "several" if len(ids) > _NAMED else str(len(ids))
        listed = ", ".join(ids[:_NAMED]) + (", …" if len(ids) > _NAMED else "")
        raise UserErrorException(f"{start!r} matches {many} runs: {listed}", hint="type more of the id")
    return ids[0]


def list_runs(workspace: Workspace, limit: int | None, **query: Any) -> Iterator[RunView]:
    """Yield runs, including child runs, newest first unless `order` is given. Pages are requested as needed.

    A limit of None yields all of them.
    """
    parameters: dict[str, Any] = {"parent": "any", **query, "limit": min(limit or _PAGE, _PAGE)}
    return itertools.islice(workspace.session.api.runs.list(workspace.id, **parameters), limit)


def confirm(question: str, yes: bool) -> None:
    """Ask before something is deleted. Where nobody can answer, `--yes` is required. All such commands use this."""
    if yes:
        return
    if not is_terminal(sys.stdin):
        raise UserErrorException(f"{question} Nobody can answer here.", hint="to do it without a question, add --yes")
    click.confirm(question, abort=True, err=True)


def parse_version(text: str) -> tuple[str, int | None]:
    """Split `NAME` or `NAME:VERSION` into name and version."""
    name, colon, version = text.partition(":")
    if colon and not version.isdigit():
        raise click.BadParameter(f"{version!r} is not a version", param_hint="NAME:VERSION")
    return name, int(version) if colon else None


def parse_pairs(values: Iterable[str], option: str) -> dict[str, str]:
    """Return `KEY=VALUE` options as a dictionary."""
    pairs: dict[str, str] = {}
    for text in values:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{text!r} is not KEY=VALUE", param_hint=option)
        pairs[key] = value
    return pairs


def parse_engine_options(texts: Iterable[str], option: str) -> dict[str, Any]:
    """Return `KEY=VALUE` options of an engine. Dashes in a key become underscores."""
    return {key.replace("-", "_"): json_or_text(value) for key, value in parse_pairs(texts, option).items()}


def json_or_text(text: str) -> Any:
    """Return the value of valid JSON, such as a number or a list, and any other text unchanged."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def requirements_environment(path: str) -> Environment:
    """Return an environment with the packages of a requirements file, for the server's own Python if they allow it.

    `Environment.from_pip_requirements` names Azure's default Python instead, as scripts for Azure expect.
    """
    environment = Environment.from_pip_requirements(Path(path).stem, path)
    environment.python.conda_dependencies.remove_conda_package("python")
    return environment
