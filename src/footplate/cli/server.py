"""`footplate server`, in the background or in the foreground for a team, and `footplate gc`."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from typing import IO, Any

import click

from footplate.cli.console import ago, counted, emit, emit_or_pairs, emit_or_say, print_pairs, say, size, when
from footplate.cli.context import (
    in_workspace_with_json,
    json_option,
    seconds_of,
    server_of_folder,
)
from footplate.cli.main import Command, Noun, Unusable
from footplate.client import home as homes
from footplate.client import launcher
from footplate.sdk.exceptions import AzureMLException
from footplate.sdk.session import open_session
from footplate.sdk.workspace import Workspace

_POLL = 0.2


@click.group(cls=Noun, invoke_without_command=True)
@click.option("--host", metavar="HOST", help="Listen on this address, in the foreground, for other users too.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port; 0 picks a free one.")
@click.option("--token-file", type=click.Path(dir_okay=False), help="A file with the token that clients must send.")
@click.option("--url", metavar="URL", help="The address for other machines, if it differs from --host.")
@click.option(
    "--ca-file", type=click.Path(dir_okay=False), help="A PEM file: the private authority of --url, for nodes."
)
@click.option("--database", metavar="URL", help="A postgresql:// address, instead of SQLite in the home folder.")
@click.pass_context
def server(
    ctx: click.Context,
    host: str | None,
    port: int | None,
    token_file: str | None,
    url: str | None,
    ca_file: str | None,
    database: str | None,
) -> None:
    """Start, stop and inspect the server.

    On one machine none of this is needed: a server starts on demand and stops when idle.

    For a team, `footplate server --host ADDRESS --port PORT` serves in the foreground until Ctrl-C. Clients send a
    token: that of FOOTPLATE_TOKEN or --token-file, or else one that is generated and kept in the home folder.
    """
    settings = {
        "--host": host, "--port": port, "--token-file": token_file, "--url": url, "--ca-file": ca_file,
        "--database": database,
    }  # fmt: skip
    names = [name for name, value in settings.items() if value is not None]
    if ctx.invoked_subcommand is not None:
        if names:
            raise Unusable(f"{names[0]} only applies to a server in the foreground", "leave out the command after it")
    elif not names:
        click.echo(ctx.get_help())
    else:
        arguments = [part for name in names for part in (name, str(settings[name]))]
        sys.stdout.flush()
        # The server replaces this process, with its signals, exit code and output.
        os.execv(sys.executable, [sys.executable, "-m", "footplate.server", "--home", homes.home_folder(), *arguments])


@server.command()
def start() -> None:
    """Start the home folder's server if it is not running."""
    home = homes.home_folder()
    running = launcher.server_status(home)["running"]
    endpoint = launcher.start_server(home)
    say(f"the server of {home} {'is already running' if running else 'has started'}: {endpoint}")


@server.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def status(ctx: click.Context, as_json: bool) -> None:
    """Show the state of the server: in the folder of a team's project, of the team server.

    Exits with 3 if it is not running.
    """
    team = server_of_folder()
    facts = launcher.server_status(homes.home_folder()) if team is None else _team_status(team)
    if as_json:
        emit(facts)
    else:
        _show(facts)
    if not facts["running"]:
        ctx.exit(3)


def _team_status(url: str) -> dict[str, Any]:
    try:
        return {"running": True, "url": url, **vars(open_session(url).api.server.get(timeout=10))}
    except AzureMLException as error:
        return {"running": False, "url": url, "problem": error.message}


def _show(found: dict[str, Any]) -> None:
    if not found["running"]:  # the record is that of the last server
        facts = [(name, found.get(name)) for name in ("home", "url", "problem")]
        print_pairs([("server", "not running" if "home" in found else "not available"), *facts])
        return
    names = ("version", "pid", "home", "socket", "url", "database", "python", "active_runs", "problem")
    since = f"{when(found['started'])} ({ago(found['started'])})"
    print_pairs([("server", "running"), ("started", since), *((n.replace("_", " "), found.get(n)) for n in names)])


@server.command()
def stop() -> None:
    """Stop the server. Runs continue, and the next server takes them over."""
    home = homes.home_folder()
    say(f"the server of {home} {'has stopped' if launcher.stop_server(home) else 'is not running'}")


@server.command()
@click.argument("state", type=click.Choice(["on", "off"]))
@json_option
def key(state: str, as_json: bool) -> None:
    """Accept the server's own token, or refuse it once people have tokens of their own.

    It is the emergency key: on the server's own machine, its owner can always switch it on again.
    """
    view = open_session(server_of_folder()).api.server.switch_key(state == "on")
    emit_or_say(as_json, view, f"the server {'accepts' if view.accepted else 'refuses'} its own token")


@server.command("test-notifications")
@json_option
@click.pass_context
def test_notifications(ctx: click.Context, as_json: bool) -> None:
    """Send a test message through every channel of settings.ini. Exits with 1 if one fails."""
    errors = open_session().api.notifications.test().channels
    results = [(name, f"failed: {error}" if error else "delivered") for name, error in errors.items()]
    emit_or_pairs(as_json, errors, results)
    if any(errors.values()):
        ctx.exit(1)


@server.command()
@click.option("-f", "--follow", is_flag=True, help="Continue as the log grows, until Ctrl-C.")
@click.option(
    "-n",
    "--lines",
    type=click.IntRange(0, 10_000_000),
    default=100,
    show_default=True,
    help="The number of lines to print.",
)
def logs(follow: bool, lines: int) -> None:
    """Print the server's own log."""
    path = os.path.join(homes.home_folder(), homes.LOG)
    try:
        file = _open(path)
    except FileNotFoundError:
        say(f"there is no server log yet: {path}")
        return
    for line in deque(file, lines):
        click.echo(line, nl=False)
    while follow:
        file = _print_new_lines(file, path)
        time.sleep(_POLL)


@server.command()
@click.option("--repair", is_flag=True, help="Put damaged content aside, and rebuild what can be rebuilt.")
@click.option("--database", metavar="URL", help="The postgresql:// address of a server that does not use SQLite.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def verify(repair: bool, database: str | None, as_json: bool) -> None:
    """Check everything that the server keeps.

    Reads every blob, journal and log and the database, and lists what is damaged or lost, with the file and the run.
    The exit code is 0 if everything is sound or was repaired, 1 if something is lost, 2 if the check failed.
    """
    options = {"--repair": repair, "--json": as_json}
    arguments = [name for name, is_set in options.items() if is_set]
    arguments += ["--database", database] if database else []
    sys.stdout.flush()
    program = [sys.executable, "-m", "footplate.server.verify", "--home", homes.home_folder()]
    os.execv(sys.executable, [*program, *arguments])


def _open(path: str) -> IO[str]:
    return open(path, encoding="utf-8", errors="replace")


def _print_new_lines(file: IO[str], path: str) -> IO[str]:
    """Print new lines; return the file to continue with, which changes when the log is rotated."""
    for line in file:
        click.echo(line, nl=False)
    try:
        if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
            return file
        following = _open(path)
    except FileNotFoundError:
        return file
    file.close()
    return following


@click.command(cls=Command)
@click.option("--dry-run", is_flag=True, help="Only print what would be freed.")
@click.option(
    "--older-than",
    metavar="DURATION",
    default="1d",
    show_default=True,
    help="Keep what was stored or asked for since. Below 1h only if nobody submits or uploads meanwhile.",
)
@in_workspace_with_json
def gc(dry_run: bool, older_than: str, workspace: Workspace, as_json: bool) -> None:
    """Free the space of content that no run, model, dataset or web service refers to.

    It is safe while runs and uploads go on. It covers all workspaces of the server.
    """
    api = workspace.session.api
    freed = api.blobs.collect_garbage(seconds_of(older_than, "--older-than"), dry_run)
    if as_json:
        emit(freed)
        return
    verb = "would free" if dry_run else "freed"
    say(f"{verb} {size(freed.bytes)} in {counted(freed.blobs, 'file')}")
    if freed.recent_blobs:
        recent = f"{size(freed.recent_bytes)} in {counted(freed.recent_blobs, 'file')}"
        say(f"{recent} will follow: nothing refers to them, but they were stored or asked for in the last {older_than}")
