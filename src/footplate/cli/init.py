"""`footplate init` and `footplate workspace`. `tests/e2e/test_cli_commands.py` covers them."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from footplate.cli.console import ago, emit, is_terminal, print_pairs, say, tag_words, when
from footplate.cli.context import (
    confirm,
    json_option,
    names_of,
    open_workspace,
    patiently,
    server_of_folder,
    yes_option,
)
from footplate.cli.main import Command, Noun
from footplate.cli.tables import print_table
from footplate.domain.records import WorkspaceView
from footplate.sdk.config import workspace_file
from footplate.sdk.config.workspace_file import WorkspaceConfig as Config
from footplate.sdk.config.workspace_lookup import DEFAULT_LABEL
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.session import open_session
from footplate.sdk.workspace import Workspace

_name_argument = click.argument("name", shell_complete=names_of("workspaces"))


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
@click.option("-y", "--yes", is_flag=True, help="Do not ask before the folder moves to another workspace.")
@json_option
def init(
    positional: str | None,
    name: str | None,
    subscription_id: str | None,
    resource_group: str | None,
    server: str | None,
    path: str,
    yes: bool,
    as_json: bool,
) -> None:
    """Connect this folder to a workspace.

    Creates the workspace if it does not exist, and writes .azureml/config.json, which Workspace.from_config() and all
    commands find from this folder and every folder below it. Running it again changes nothing; with another name, the
    folder moves to that workspace.
    """
    if positional and name and positional != name:
        raise click.UsageError(f"two names were given, {positional!r} and {name!r}; use one")
    folder = Path(path).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    options = (subscription_id, resource_group, name or positional, server)
    before = _config_of(folder)
    config = before
    if config is None or any(options):
        chosen_name = name or positional or workspace_file.name_for(str(folder))
        config = Config(subscription_id or DEFAULT_LABEL, resource_group or DEFAULT_LABEL, chosen_name, server)
    if before not in (None, config) and not yes and is_terminal(sys.stdin):
        question = f"this folder belongs to workspace {_words(before)}; connect it to {_words(config)} instead?"
        click.confirm(question, abort=True, err=True)
    with patiently():
        workspace = Workspace.create(
            config.workspace_name,
            subscription_id=config.subscription_id,
            resource_group=config.resource_group,
            server=config.server,
            exist_ok=True,
            show_output=False,
        )
    written = workspace.write_config(str(folder))
    where = config.server or workspace.session.info.home
    _report_move(before, config)
    if as_json:
        emit(
            {"workspace": workspace.name, "id": workspace.id, "config": written, "server": config.server, "home": where}
        )
        return
    say(f"workspace {workspace.name} is ready ({where})")
    say(f"wrote {written}")
    say("next: footplate run --wait SCRIPT, or in Python: Workspace.from_config()")


def _config_of(folder: Path) -> Config | None:
    """Return what the folder's own configuration says; one of a folder above does not count."""
    try:
        path = Path(workspace_file.find(str(folder)))
        return workspace_file.read(str(path)) if folder in (path.parent, path.parent.parent) else None
    except UserErrorException:
        return None


def _report_move(before: Config | None, now: Config) -> None:
    if before not in (None, now):
        say(f"this folder moved from workspace {_words(before)} to {_words(now)}; the runs of the former stay there")


def _words(config: Config | None) -> str:
    """Return the name of a workspace with what distinguishes it from others."""
    assert config is not None
    group = (config.subscription_id, config.resource_group)
    inside = [] if group == (DEFAULT_LABEL, DEFAULT_LABEL) else ["/".join(group)]
    inside += [config.server] if config.server else []
    return config.workspace_name + (f" ({', '.join(inside)})" if inside else "")


@click.group(cls=Noun)
def workspace() -> None:
    """List, choose, show and delete workspaces.

    They are those of the server of this folder: a team server, or that of the home folder.
    """


@workspace.command("list")
@json_option
def list_workspaces(as_json: bool) -> None:
    """List workspaces; a * marks that of this folder."""
    views = list(open_session(server_of_folder()).api.workspaces.list())
    if as_json:
        emit(views)
        return
    try:
        here = workspace_file.scope(workspace_file.read(workspace_file.find()))
    except UserErrorException:
        here = ""
    rows = [(_mark(v, here), v.name, v.resource_group, v.subscription_id, ago(v.created)) for v in views]
    print_table(("", "name", "resource group", "subscription", "created"), rows)


def _mark(view: WorkspaceView, here: str) -> str:
    return "*" if workspace_file.scope(Config(view.subscription_id, view.resource_group, view.name)) == here else ""


@workspace.command()
@_name_argument
def use(name: str) -> None:
    """Connect this folder to an existing workspace."""
    before = _config_of(Path.cwd())
    chosen = open_workspace(name)
    say(f"wrote {chosen.write_config()}")
    now = Config(chosen.subscription_id, chosen.resource_group, chosen.name, chosen.session.server)
    _report_move(before, now)


@workspace.command()
@click.argument("name", required=False, shell_complete=names_of("workspaces"))
@json_option
def show(name: str | None, as_json: bool) -> None:
    """Show a workspace, by default that of this folder."""
    chosen = open_workspace(name)
    view = chosen.session.api.workspaces.get(chosen.id)
    if as_json:
        emit(view)
        return
    server = chosen.session.server or chosen.session.info.home
    print_pairs([
        ("name", view.name), ("id", view.id), ("subscription", view.subscription_id),
        ("resource group", view.resource_group), ("created", when(view.created)), ("tags", tag_words(view.tags)),
        ("server", server),
    ])  # fmt: skip


@workspace.command()
@_name_argument
@click.option("--force", is_flag=True, help="With everything in it: runs, models, datasets, secrets, data.")
@yes_option
def delete(name: str, force: bool, yes: bool) -> None:
    """Delete a workspace. Nothing brings it back; `footplate gc` frees the space of its files.

    Without --force it must be empty. Active runs and web services must be ended first.
    """
    chosen = open_workspace(name)
    everything = " and everything in it" if force else ""
    confirm(f"delete workspace {chosen.name}{everything} for good?", yes)
    chosen.session.api.workspaces.delete(chosen.id, force)
    say(f"workspace {chosen.name} is deleted")
