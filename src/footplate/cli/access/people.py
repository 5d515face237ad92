"""`footplate people`: people and service accounts."""

from __future__ import annotations

import click

from footplate.cli.console import ago, emit, emit_or_say
from footplate.cli.context import json_option, server_of_folder
from footplate.cli.main import Noun
from footplate.cli.tables import print_table
from footplate.domain.access.people import PERSON, SERVICE
from footplate.sdk.session import open_session

_groups_option = click.option("--group", "groups", multiple=True, metavar="NAME", help="A group; repeatable.")


@click.group(cls=Noun)
def people() -> None:
    """People and service accounts of a team server.

    Somebody new has no role: assign one with `footplate roles grant`, and create a token with `footplate tokens
    create --for NAME`. Only owners of the server use these commands.
    """


@people.command("list")
@json_option
def list_people(as_json: bool) -> None:
    """List people and service accounts."""
    views = list(open_session(server_of_folder()).api.people.list())
    if as_json:
        emit(views)
        return
    rows = [
        (view.name, view.kind, view.display_name or "", ", ".join(view.groups), ago(view.created),
         "disabled" if view.disabled else "")
        for view in views
    ]  # fmt: skip
    print_table(("name", "kind", "display name", "groups", "added", "state"), rows, shrink=("groups",))


@people.command()
@click.argument("name")
@click.option("--service", is_flag=True, help="A service account, for CI and other programs.")
@click.option("--display-name", metavar="TEXT", help="The full name.")
@click.option("--email", metavar="ADDRESS", help="The e-mail address.")
@_groups_option
@json_option
def add(
    name: str, service: bool, display_name: str | None, email: str | None, groups: tuple[str, ...], as_json: bool
) -> None:
    """Add a person or a service account. Names are never given twice."""
    kind = SERVICE if service else PERSON
    view = open_session(server_of_folder()).api.people.add(name, kind, display_name, email, groups)
    emit_or_say(as_json, view, f"added {view.name}; next: footplate roles grant {view.name} contributor -w WORKSPACE")


@people.command()
@click.argument("name")
@_groups_option
@json_option
def regroup(name: str, groups: tuple[str, ...], as_json: bool) -> None:
    """Set the groups of somebody who does not sign in through a provider; none removes all."""
    view = open_session(server_of_folder()).api.people.change(name, groups=groups)
    emit_or_say(as_json, view, f"{view.name} is in {', '.join(view.groups) or 'no group'}")


@people.command()
@click.argument("name")
@json_option
def disable(name: str, as_json: bool) -> None:
    """Refuse all tokens and sessions of somebody at once. Their runs go on, and reach nothing beyond themselves."""
    view = open_session(server_of_folder()).api.people.change(name, disabled=True)
    emit_or_say(as_json, view, f"{view.name} is disabled")


@people.command()
@click.argument("name")
@json_option
def enable(name: str, as_json: bool) -> None:
    """Accept the tokens of somebody again who was disabled."""
    view = open_session(server_of_folder()).api.people.change(name, disabled=False)
    emit_or_say(as_json, view, f"{view.name} is enabled")
