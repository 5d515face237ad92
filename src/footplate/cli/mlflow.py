"""`footplate mlflow`: the address at which MLflow's clients reach a workspace."""

from __future__ import annotations

import shlex
from urllib.parse import quote

import click

from footplate.cli.console import emit, is_terminal, say
from footplate.cli.context import in_workspace_with_json
from footplate.cli.main import Command
from footplate.client import home as homes
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.workspace import Workspace


@click.command(cls=Command)
@in_workspace_with_json
def mlflow(workspace: Workspace, as_json: bool) -> None:
    """Print the address of a workspace for MLflow's clients.

    On a server of your own machine, this opens its port on 127.0.0.1. Everybody who has the token can use the server.
    """
    session = workspace.session
    address = session.api.sessions.open_page().address
    token = session.token or _token_of_home()
    variables = {
        "MLFLOW_TRACKING_URI": f"{address}/mlflow/{quote(workspace.name, safe='')}",
        "MLFLOW_TRACKING_TOKEN": token,
    }
    if as_json:
        emit(variables)
        return
    for name, value in variables.items():
        click.echo(f"export {name}={shlex.quote(value)}")
    if is_terminal():
        say('to set both in this shell: eval "$(footplate mlflow)"')


def _token_of_home() -> str:
    """Return the token of the server of this home, which wrote it when it opened its port."""
    try:
        return homes.read_token(homes.home_folder())
    except OSError as error:
        raise UserErrorException(
            f"the token of the server cannot be read: {error.strerror or error}",
            hint="set FOOTPLATE_TOKEN to the token that the server was started with",
        ) from None
