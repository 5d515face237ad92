"""`footplate audit`: the log of what people did."""

from __future__ import annotations

import itertools
import json
import time

import click

from footplate.cli.console import emit_each, when
from footplate.cli.context import json_option, names_of, open_workspace, seconds_of, server_of_folder
from footplate.cli.main import Command
from footplate.cli.tables import print_table
from footplate.domain.codec import to_json
from footplate.sdk.session import open_session


@click.command(cls=Command)
@click.option("--who", metavar="NAME", help="What one person did.")
@click.option("--action", metavar="NAME", help="One operation, such as cancel_run.")
@click.option("-w", "--workspace", metavar="NAME", shell_complete=names_of("workspaces"), help="In one workspace.")
@click.option("--run", metavar="ID", help="About one run.")
@click.option("--since", metavar="TIME", help="Not older than, such as 2h or 7d.")
@click.option("--refused", is_flag=True, help="Only requests that were refused or failed.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="The number of entries.")
@click.option("--export", is_flag=True, help="Print all matching entries as JSON lines.")
@json_option
def audit(
    who: str | None,
    action: str | None,
    workspace: str | None,
    run: str | None,
    since: str | None,
    refused: bool,
    limit: int,
    export: bool,
    as_json: bool,
) -> None:
    """Search and export the log of what people did.

    The newest entries come first. Only owners of the server read them.
    """
    place = open_workspace(workspace).id if workspace else None
    after = None if since is None else time.time() - seconds_of(since, "--since")
    api = open_session(server_of_folder()).api
    entries = api.server.audit(who, action, place, run, after, refused=True if refused else None)
    if export:
        for entry in entries:
            click.echo(json.dumps(to_json(entry)))
        return
    chosen = itertools.islice(entries, limit)
    if as_json:
        emit_each(chosen)
        return
    rows = [(when(e.time), e.who, e.action, e.detail or e.run or e.path, str(e.status), e.source) for e in chosen]
    print_table(("time", "who", "action", "object", "status", "from"), rows, shrink=("object",))
