"""`footplate runs diff`."""

from __future__ import annotations

import click

from footplate.cli.console import emit, paint, say
from footplate.cli.context import find_run, json_option, names_of, workspace_option
from footplate.cli.runs.group import runs
from footplate.cli.tables import table
from footplate.domain.codec import to_json


@runs.command()
@click.argument("before", metavar="RUN", shell_complete=names_of("runs"))
@click.argument("after", metavar="RUN", shell_complete=names_of("runs"))
@workspace_option
@json_option
def diff(before: str, after: str, workspace_name: str | None, as_json: bool) -> None:
    """Show what differs between two runs: arguments, code, environment, data and metrics."""
    found = find_run(before, workspace_name)[0].diff(find_run(after, workspace_name)[0])
    if as_json:
        emit(to_json(found))
        return
    same: list[str] = []
    for name, changes in found.sections().items():
        if not changes:
            same.append(name)
            continue
        click.echo(paint(name, bold=True))
        table(
            ["what", found.before, found.after],
            [[change.what, change.before or "–", change.after or "–"] for change in changes],
            shrink=[found.before, found.after],
            names=[found.before, found.after],
        )
        click.echo()
    say(f"the same: {', '.join(same)}" if same else "everything differs")
