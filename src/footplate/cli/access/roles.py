"""`footplate roles`: roles of people and groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from footplate.cli.console import emit, emit_or_say
from footplate.cli.context import json_option, names_of, open_workspace, server_of_folder
from footplate.cli.main import Noun
from footplate.cli.tables import print_table
from footplate.domain.access.people import EVERYWHERE, GROUP, ROLES, USER
from footplate.sdk.session import open_session


@click.group(cls=Noun)
def roles() -> None:
    """Roles of people and groups in workspaces.

    A reader sees everything but secrets and credentials. A contributor submits runs, and changes their own. An owner
    changes all. A role everywhere counts in every workspace; an owner everywhere owns the server.
    """


def _place_options(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option("--everywhere", is_flag=True, help="In all workspaces.")(command)
    return click.option(
        "-w",
        "--workspace",
        metavar="NAME",
        shell_complete=names_of("workspaces"),
        help="The workspace.  [default: that of this folder]",
    )(command)


_group_option = click.option("--group", is_flag=True, help="NAME is a group of the sign-in provider.")


@roles.command("list")
@_place_options
@json_option
def list_roles(workspace: str | None, everywhere: bool, as_json: bool) -> None:
    """List the roles that count in a workspace."""
    if everywhere:
        views = list(open_session(server_of_folder()).api.people.server_roles())
    else:
        opened = open_workspace(workspace)
        views = list(opened.session.api.people.roles(opened.id))
    if as_json:
        emit(views)
        return
    rows = [(v.name, v.kind, v.role, "everywhere" if v.workspace == EVERYWHERE else "here") for v in views]
    print_table(("name", "kind", "role", "where"), rows)


@roles.command()
@click.argument("name")
@click.argument("role", type=click.Choice(ROLES))
@_group_option
@_place_options
@json_option
def grant(name: str, role: str, group: bool, workspace: str | None, everywhere: bool, as_json: bool) -> None:
    """Give a person or a group a role, in place of the one before."""
    kind = GROUP if group else USER
    if everywhere:
        view = open_session(server_of_folder()).api.people.grant_everywhere(kind, name, role)
        where = "everywhere"
    else:
        opened = open_workspace(workspace)
        view = opened.session.api.people.grant(opened.id, kind, name, role)
        where = f"in {opened.name}"
    emit_or_say(as_json, view, f"{name} is {role} {where}")


@roles.command()
@click.argument("name")
@_group_option
@_place_options
@json_option
def withdraw(name: str, group: bool, workspace: str | None, everywhere: bool, as_json: bool) -> None:
    """Withdraw the role of a person or a group."""
    kind = GROUP if group else USER
    if everywhere:
        open_session(server_of_folder()).api.people.withdraw_everywhere(kind, name)
    else:
        opened = open_workspace(workspace)
        opened.session.api.people.withdraw(opened.id, kind, name)
    emit_or_say(as_json, {"withdrawn": name}, f"withdrew the role of {name}")
