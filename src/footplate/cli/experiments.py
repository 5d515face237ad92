"""`footplate experiments`."""

from __future__ import annotations

import click

from footplate.cli.console import ago, say, tag_words
from footplate.cli.context import (
    in_workspace,
    in_workspace_with_json,
    names_of,
)
from footplate.cli.main import Noun
from footplate.cli.tables import print_list
from footplate.domain.records import ExperimentView
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.workspace import Workspace


@click.group(cls=Noun)
def experiments() -> None:
    """List and archive experiments."""


@experiments.command("list")
@click.option("--archived", is_flag=True, help="Archived experiments instead of active ones.")
@in_workspace_with_json
def list_experiments(archived: bool, workspace: Workspace, as_json: bool) -> None:
    """List experiments."""
    views = _all(workspace, archived=archived)
    columns = ["name", "created", "tags"]
    print_list(as_json, views, "no experiments", columns, lambda e: [e.name, ago(e.created), tag_words(e.tags)])


@experiments.command()
@click.argument("name", shell_complete=names_of("experiments"))
@in_workspace
def archive(name: str, workspace: Workspace) -> None:
    """Remove an experiment from the list. Its runs stay."""
    _set_archived(workspace, name, True)
    say(f"{name} is archived; restore it with: footplate experiments reactivate {name}")


@experiments.command()
@click.argument("name", shell_complete=names_of("experiments"))
@in_workspace
def reactivate(name: str, workspace: Workspace) -> None:
    """Restore an archived experiment."""
    _set_archived(workspace, name, False)
    say(f"{name} is back")


def _set_archived(workspace: Workspace, name: str, archived: bool) -> None:
    ids = {e.name: e.id for e in _all(workspace, archived=not archived)}
    if name not in ids:
        state = "archived experiment" if not archived else "experiment"
        names = ", ".join(sorted(ids)) or "none"
        raise UserErrorException(f"workspace {workspace.name} has no {state} {name!r}", hint=f"it has: {names}")
    workspace.session.api.experiments.change(ids[name], archived=archived)


def _all(workspace: Workspace, *, archived: bool) -> list[ExperimentView]:
    return list(workspace.session.api.experiments.list(workspace.id, archived=archived))
