"""`footplate ui`: open the page of the server in a browser."""

from __future__ import annotations

import os
import webbrowser
from urllib.parse import urlsplit

import click

from footplate.cli.console import emit, say
from footplate.cli.context import server_of_folder
from footplate.cli.main import Command
from footplate.client import home as homes
from footplate.client import launcher
from footplate.domain.replies import PageLink
from footplate.sdk.exceptions import AuthenticationException, UserErrorException
from footplate.sdk.session import open_session


@click.command(cls=Command)
@click.option("--no-browser", is_flag=True, help="Print the link only.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def ui(no_browser: bool, as_json: bool) -> None:
    """Open the page of the server in a browser.

    The printed link works once, for ten minutes; the browser stays signed in for thirty days.
    """
    endpoint = server_of_folder() or launcher.ensure_server(homes.home_folder())
    session = open_session(endpoint)
    try:
        link = session.api.sessions.open_page()
    except AuthenticationException as error:
        raise UserErrorException(
            "only the owner of the server opens the page by a link",
            error,
            hint=f"open {session.info.page}/sign-in, with a token of yours: footplate tokens create browser",
        ) from None
    url = f"{link.address}/sign-in#{link.code}"
    if as_json:
        emit({"url": url, "address": link.address})
        return
    click.echo(url)
    if is_remote():
        _explain_forward(link)
    elif not no_browser and not webbrowser.open(url):
        say("no browser was found here: open the link above")


def is_remote() -> bool:
    """Return whether this terminal belongs to an ssh session without a display."""
    return bool(os.environ.get("SSH_CONNECTION")) and not os.environ.get("DISPLAY")


def _explain_forward(link: PageLink) -> None:
    address = urlsplit(link.address)
    if address.hostname in ("127.0.0.1", "localhost"):
        machine = os.uname().nodename
        say("this is a remote session: on your own machine, run the next line, and open the link above there")
        say(f"  ssh -N -L {address.port}:127.0.0.1:{address.port} {machine}")
