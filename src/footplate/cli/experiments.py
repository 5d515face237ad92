"""`footplate experiments`."""

from __future__ import annotations

import click

from footplate.cli.console import ago, emit, say, tag_words
from footplate.cli.context import json_option, names_of, open_workspace, workspace_option
from footplate.cli.main import Noun
from footplate.cli.tables import table
from footplate.domain.records import ExperimentView
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.workspace import Workspace


@click.group(cls=Noun)
def experiments() -> None:
    """List and archive experiments."""


@experiments.command("list")
@click.option("--archived", is_flag=True, help="Archived experiments instead of active ones.")
@workspace_option
@json_option
def list_experiments(archived: bool, workspace_name: str | None, as_json: bool) -> None:
    """List experiments."""
    workspace = open_workspace(workspace_name)
    found = _all(workspace, archived=archived)
    if as_json:
        emit(found)
    elif not found:
        say("no experiments")
    else:
        table(["name", "created", "tags"], [[e.name, ago(e.created), tag_words(e.tags)] for e in found])


@experiments.command()
@click.argument("name", shell_complete=names_of("experiments"))
@workspace_option
def archive(name: str, workspace_name: str | None) -> None:
    """Remove an experiment from the list. Its runs stay."""
    _set_archived(name, workspace_name, True)
    say(f"{name} is archived; restore it with: footplate experiments reactivate {name}")


@experiments.command()
@click.argument("name", shell_complete=names_of("experiments"))
@workspace_option
def reactivate(name: str, workspace_name: str | None) -> None:
    """Restore an archived experiment."""
    _set_archived(name, workspace_name, False)
    say(f"{name} is back")


def _set_archived(name: str, workspace_name: str | None, archived: bool) -> None:
    workspace = open_workspace(workspace_name)
    known = {e.name: e.id for e in _all(workspace, archived=not archived)}
    if name not in known:
        state = "archived experiment" if not archived else "experiment"
        names = ", ".join(sorted(known)) or "none"
        raise UserErrorException(f"workspace {workspace.name} has no {state} {name!r}", hint=f"it has: {names}")
    workspace.session.api.experiments.change(known[name], archived=archived)


def _all(workspace: Workspace, *, archived: bool) -> list[ExperimentView]:
    return list(workspace.session.api.experiments.list(workspace.id, archived=archived))
