"""How rattler reaches channels: with the user's own configuration, and with the logins of the environment.

It gives rattler's exceptions types, too: they are defined in Rust, and the type checker cannot see them.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from rattler import Config
from rattler import exceptions as _theirs

from footplate.environments.url_credentials import Logins

GatewayError: type[Exception] = _theirs.GatewayError  # pyright: ignore[reportUnknownMemberType]
InvalidMatchSpecError: type[Exception] = _theirs.InvalidMatchSpecError  # pyright: ignore[reportUnknownMemberType]
SolverError: type[Exception] = _theirs.SolverError  # pyright: ignore[reportUnknownMemberType]
INSTALLING: tuple[type[Exception], ...] = (
    _theirs.InstallerError,  # pyright: ignore[reportUnknownMemberType]
    _theirs.LinkError,  # pyright: ignore[reportUnknownMemberType]
    _theirs.TransactionError,  # pyright: ignore[reportUnknownMemberType]
    _theirs.IoError,  # pyright: ignore[reportUnknownMemberType]
    OSError,
)


_STORED = "~/.rattler/credentials.json"


@contextmanager
def config(logins: Logins) -> Generator[Config]:
    """Return rattler's configuration (mirrors, proxies, certificates, credentials) with `logins` added.

    A token is part of a path, so the full address becomes the mirror of the bare one: rattler requests the former and
    records the latter. A user and password become an entry in rattler's own format, by host, beside the user's.
    """
    settings = Config.load_from_default_locations("rattler")
    tokens = {bare: whole for bare, whole in logins.by_address.items() if urlsplit(whole).username is None}
    passwords = {bare: whole for bare, whole in logins.by_address.items() if bare not in tokens}
    lines = ["[mirrors]", *(f"{json.dumps(bare)} = [{json.dumps(whole)}]" for bare, whole in tokens.items())]
    if not passwords:
        yield settings.merge(Config.from_toml("\n".join(lines))) if tokens else settings
        return
    with tempfile.NamedTemporaryFile("w", prefix="footplate-", suffix=".json") as file:  # mode 0600
        json.dump({**_read_stored(settings), **dict(map(_entry, passwords.values()))}, file)
        file.flush()
        override = f"authentication-override-file = {json.dumps(file.name)}"
        yield settings.merge(Config.from_toml("\n".join([override, *lines])))


def _entry(whole: str) -> tuple[str, dict[str, Any]]:
    parts = urlsplit(whole)
    login = {"username": unquote(parts.username or ""), "password": unquote(parts.password or "")}
    return parts.hostname or "", {"BasicHTTP": login}


def _read_stored(settings: Config) -> dict[str, Any]:
    """Return the credentials in the user's file, which an override would hide. Those in a keyring cannot be read
    here."""
    named = settings.authentication_override_file or os.environ.get("RATTLER_AUTH_FILE") or _STORED
    try:
        return json.loads(Path(named).expanduser().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
