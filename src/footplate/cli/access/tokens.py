"""`footplate tokens`: tokens of people and service accounts."""

from __future__ import annotations

import time

import click

from footplate.cli.console import ago, emit, emit_or_say, say, when
from footplate.cli.context import json_option, names_of, open_workspace, server_of_folder
from footplate.cli.main import Noun
from footplate.cli.tables import print_table
from footplate.sdk.session import open_session

_DAY = 86_400.0


@click.group(cls=Noun)
def tokens() -> None:
    """Create, list and revoke tokens.

    Use one per machine, so that one can be revoked alone.
    """


@tokens.command()
@click.argument("label")
@click.option("--for", "person", metavar="NAME", help="A person or service account.  [default: you]")
@click.option("--days", type=click.FloatRange(min=0, min_open=True), help="How long it is valid.  [default: no end]")
@click.option(
    "-w", "--workspace", metavar="NAME", shell_complete=names_of("workspaces"), help="Valid in this workspace only."
)
@click.option("--read-only", is_flag=True, help="It allows no more than a reader may do.")
@json_option
def create(
    label: str, person: str | None, days: float | None, workspace: str | None, read_only: bool, as_json: bool
) -> None:
    """Create a token and print it. LABEL says where it is used.

    The token is printed this once. It ends no later than the token with which you create it.
    """
    only = open_workspace(workspace).id if workspace else None
    expires = None if days is None else time.time() + days * _DAY
    new = open_session(server_of_folder()).api.people.create_token(label, person, expires, only, read_only)
    if as_json:
        emit(new)
        return
    until = f"until {when(new.view.expires)}" if new.view.expires else "until it is revoked"
    say(f"token {new.view.id} of {new.view.person}, valid {until}; it is not shown again:")
    click.echo(new.token)


@tokens.command("list")
@click.option("--for", "person", metavar="NAME", help="Those of one person.")
@json_option
def list_tokens(person: str | None, as_json: bool) -> None:
    """List your tokens; owners of the server see those of all."""
    api = open_session(server_of_folder()).api
    views = list(api.people.tokens(person))
    if as_json:
        emit(views)
        return
    names = {view.id: view.name for view in api.workspaces.list()} if any(v.workspace for v in views) else {}
    rows = [
        (v.id, v.person, v.label, _limits(v.read_only, names.get(v.workspace or "", v.workspace)), ago(v.created),
         ago(v.last_used) or "never", when(v.expires) or "never")
        for v in views
    ]  # fmt: skip
    print_table(("id", "person", "label", "limits", "created", "used", "ends"), rows, shrink=("label",))


def _limits(read_only: bool, workspace: str | None) -> str:
    return " ".join(filter(None, (workspace, "read-only" if read_only else "")))


@tokens.command()
@click.argument("token_id", metavar="ID")
@json_option
def revoke(token_id: str, as_json: bool) -> None:
    """Revoke a token at once, with the browser sessions that began with it."""
    open_session(server_of_folder()).api.people.revoke_token(token_id)
    emit_or_say(as_json, {"revoked": token_id}, f"revoked {token_id}")
