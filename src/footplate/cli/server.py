"""`footplate server`: the server of the home folder, in the background; or one in the foreground, on an address."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from typing import IO, Any

import click

from footplate.cli.console import ago, emit, pairs, say, when
from footplate.cli.main import Noun, Unusable
from footplate.client import home as homes
from footplate.client import launcher

_POLL = 0.2


@click.group(cls=Noun, invoke_without_command=True)
@click.option("--host", metavar="HOST", help="Listen on this address, in the foreground, for others than you.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port to listen on; 0 takes a free one.")
@click.option("--token-file", type=click.Path(dir_okay=False), help="The file that holds the token which callers show.")
@click.option("--url", metavar="URL", help="The address that other machines use, if it is not that of --host.")
@click.option("--database", metavar="URL", help="postgresql://… instead of the home folder's SQLite.")
@click.pass_context
def server(
    ctx: click.Context,
    host: str | None,
    port: int | None,
    token_file: str | None,
    url: str | None,
    database: str | None,
) -> None:
    """Start, stop and look at the server.

    On one machine nothing of this is needed: a server starts when something asks for it, and ends when nothing does.

    For a team, `footplate server --host ADDRESS --port PORT` serves in the foreground until Ctrl-C. Callers show a
    token: the one in FOOTPLATE_TOKEN or --token-file, else one that is made and kept in the home folder.
    """
    settings = {"--host": host, "--port": port, "--token-file": token_file, "--url": url, "--database": database}
    given = [name for name, value in settings.items() if value is not None]
    if ctx.invoked_subcommand is not None:
        if given:
            raise Unusable(f"{given[0]} is for a server in the foreground", "leave out the command after it")
    elif not given:
        click.echo(ctx.get_help())
    else:
        _serve([part for name in given for part in (name, str(settings[name]))])


def _serve(arguments: list[str]) -> None:
    """Become the server: its signals, its exit code, its output."""
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "footplate.server", "--home", homes.home_folder(), *arguments])


@server.command()
def start() -> None:
    """Start the server of the home folder, if it does not run."""
    home = homes.home_folder()
    running = launcher.server_status(home)["running"]
    endpoint = launcher.start_server(home)
    say(f"the server of {home} {'runs already' if running else 'has started'}: {endpoint}")


@server.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for machines.")
@click.pass_context
def status(ctx: click.Context, as_json: bool) -> None:
    """Show whether the server runs, and what it is. Exits with 3 if it does not run."""
    found = launcher.server_status(homes.home_folder())
    if as_json:
        emit(found)
    else:
        _show(found)
    if not found["running"]:
        ctx.exit(3)


def _show(found: dict[str, Any]) -> None:
    if not found["running"]:  # what is known about it is about the last one
        pairs([("server", "not running"), ("home", found["home"]), ("problem", found.get("problem"))])
        return
    shown = ("version", "pid", "home", "socket", "url", "database", "python", "active_runs", "problem")
    since = f"{when(found['started'])} ({ago(found['started'])})"
    pairs([("server", "running"), ("started", since), *((n.replace("_", " "), found.get(n)) for n in shown)])


@server.command()
def stop() -> None:
    """Stop the server. Runs go on, and the next server takes them up."""
    home = homes.home_folder()
    say(f"the server of {home} {'has stopped' if launcher.stop_server(home) else 'does not run'}")


@server.command()
@click.option("-f", "--follow", is_flag=True, help="Go on as the log grows, until Ctrl-C.")
@click.option(
    "-n", "--lines", type=click.IntRange(0), default=100, show_default=True, help="How many of the last lines."
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
        file = _printed_on(file, path)
        time.sleep(_POLL)


def _open(path: str) -> IO[str]:
    return open(path, encoding="utf-8", errors="replace")


def _printed_on(file: IO[str], path: str) -> IO[str]:
    """Print what is new; answers the file to go on with, which is another one after the log was rotated."""
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
