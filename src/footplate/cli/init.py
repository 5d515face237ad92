"""`footplate init`."""

from __future__ import annotations

from pathlib import Path

import click

from footplate.cli.console import emit, say
from footplate.cli.context import json_option, patiently
from footplate.cli.main import Command
from footplate.sdk.config.workspace_file import name_for
from footplate.sdk.workspace import Workspace


@click.command(cls=Command)
@click.argument("positional", metavar="[NAME]", required=False)
@click.option("--name", metavar="NAME", help="The workspace's name.  [default: derived from the folder's name]")
@click.option("--subscription-id", metavar="ID", help="Azure's billing account; any text.  [default: local]")
@click.option("--resource-group", metavar="NAME", help="A group of workspaces; any text.  [default: local]")
@click.option(
    "--server", metavar="URL", help="The address of a team server (https://…); its token is read from FOOTPLATE_TOKEN."
)
@click.option(
    "--path", type=click.Path(file_okay=False), default=".", show_default="this folder", help="The project folder."
)
@json_option
def init(
    positional: str | None,
    name: str | None,
    subscription_id: str | None,
    resource_group: str | None,
    server: str | None,
    path: str,
    as_json: bool,
) -> None:
    """Connect this folder to a workspace.

    Creates the workspace if it does not exist, and writes .azureml/config.json, which Workspace.from_config() and all
    commands find from this folder and every folder below it. Running it again changes nothing.
    """
    if positional and name and positional != name:
        raise click.UsageError(f"two names were given, {positional!r} and {name!r}; use one")
    folder = Path(path).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    wanted = name or positional or name_for(str(folder))
    with patiently():
        workspace = Workspace.create(
            wanted,
            subscription_id=subscription_id,
            resource_group=resource_group,
            server=server,
            exist_ok=True,
            show_output=False,
        )
    written = workspace.write_config(str(folder))
    where = server or workspace.session.info.home
    if as_json:
        emit({"workspace": workspace.name, "id": workspace.id, "config": written, "server": server, "home": where})
        return
    say(f"workspace {workspace.name} is ready ({where})")
    say(f"wrote {written}")
    say("next: footplate run --wait SCRIPT, or in Python: Workspace.from_config()")
