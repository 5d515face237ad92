"""`footplate login`, `logout` and `whoami`."""

from __future__ import annotations

import os
import sys

import click

from footplate import environ
from footplate.cli.console import emit, emit_or_pairs, emit_or_say, say
from footplate.cli.context import json_option, server_of_folder
from footplate.cli.main import Command
from footplate.client import connect
from footplate.client.credentials import forget_token, store_token
from footplate.client.http import parse_endpoint
from footplate.domain.access.people import EVERYWHERE, WhoAmI
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.session import Session, open_session


@click.command(cls=Command)
@click.argument("server", required=False)
@click.option("--token", "from_input", is_flag=True, help="Read a token from the terminal or from stdin.")
@json_option
def login(server: str | None, from_input: bool, as_json: bool) -> None:
    """Sign in to a team server on this machine.

    SERVER is its address (https://…); without one, it is that of this folder. The token is checked, and stored in
    credentials.json of the home folder, which only you can read. All commands and scripts then use it.
    """
    address = _address(server)
    if not from_input:
        raise UserErrorException(
            "this version signs in with a token only", hint=f"create one on the page or ask for one, then: footplate "
            f"login {address} --token"
        )  # fmt: skip
    token = _read_token()
    who = Session(connect(endpoint=address, token=token), address).api.people.whoami()
    path = store_token(address, token)
    if os.environ.get(environ.TOKEN):
        say(f"{environ.TOKEN} is set in this shell, and goes before the stored token")
    if as_json:
        emit(who)
    else:
        say(f"signed in to {address} as {who.name}; the token is in {path}")


def _read_token() -> str:
    """Read a token; never from the command line, which every user of a machine can see."""
    text = click.prompt("token", hide_input=True, err=True) if sys.stdin.isatty() else sys.stdin.readline()
    token = str(text).strip()
    if not token:
        raise UserErrorException("no token was given", hint="echo TOKEN | footplate login https://… --token")
    return token


@click.command(cls=Command)
@click.argument("server", required=False)
@json_option
def logout(server: str | None, as_json: bool) -> None:
    """Forget the token of a team server on this machine.

    To withdraw it everywhere: footplate tokens revoke ID.
    """
    address = _address(server)
    is_forgotten = forget_token(address)
    message = f"forgot the token for {address}" if is_forgotten else f"there was no token for {address}"
    emit_or_say(as_json, {"server": address, "forgotten": is_forgotten}, message)


def _address(server: str | None) -> str:
    address = server or server_of_folder()
    if address is None:
        raise UserErrorException(
            "this folder belongs to no team server", hint="name it: footplate login https://train.example.com --token"
        )
    if parse_endpoint(address).socket:
        raise UserErrorException(f"{address} is a socket of this machine", hint="it needs no token")
    return address


@click.command(cls=Command)
@click.argument("server", required=False)
@json_option
def whoami(server: str | None, as_json: bool) -> None:
    """Show who you are to the server, and your roles.

    SERVER is its address; without one, it is that of this folder, or of the home folder.
    """
    api = open_session(server or server_of_folder()).api
    who = api.people.whoami()
    names = {} if as_json else {view.id: view.name for view in api.workspaces.list()}
    emit_or_pairs(as_json, who, [("name", who.name), ("kind", who.kind), *_details(who, names)])


def _details(who: WhoAmI, names: dict[str, str]) -> list[tuple[str, str]]:
    roles = [
        f"{role} {'everywhere' if place == EVERYWHERE else f'in {names.get(place, place)}'}"
        for place, role in who.roles.items()
    ]
    token = who.token
    limits = [] if token is None else [f"{token.id} ({token.label})", *(["read-only"] if token.read_only else [])]
    limits += [f"in {names.get(token.workspace, token.workspace)} only"] if token and token.workspace else []
    return [("roles", "\n".join(roles) or "none"), ("groups", ", ".join(who.groups)), ("token", ", ".join(limits))]
