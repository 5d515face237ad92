"""`footplate runs diff`."""

from __future__ import annotations

import click

from footplate.cli.console import emit, paint, say
from footplate.cli.context import find_run, in_workspace_with_json, names_of
from footplate.cli.runs.group import runs
from footplate.cli.tables import table
from footplate.sdk.workspace import Workspace


@runs.command()
@click.argument("before", metavar="RUN", shell_complete=names_of("runs"))
@click.argument("after", metavar="RUN", shell_complete=names_of("runs"))
@in_workspace_with_json
def diff(before: str, after: str, workspace: Workspace, as_json: bool) -> None:
    """Show what differs between two runs: arguments, code, environment, data and metrics."""
    difference = find_run(workspace, before)[0].diff(find_run(workspace, after)[0])
    if as_json:
        emit(difference)
        return
    same: list[str] = []
    for name, changes in difference.sections().items():
        if not changes:
            same.append(name)
            continue
        click.echo(paint(name, bold=True))
        table(
            ["what", difference.before, difference.after],
            [[change.what, change.before or "–", change.after or "–"] for change in changes],
            shrink=[difference.before, difference.after],
            names=[difference.before, difference.after],
        )
        click.echo()
    say(f"the same: {', '.join(same)}" if same else "everything differs")
