"""The server's own token: given by whoever starts it, otherwise created once and kept in the home folder."""

from __future__ import annotations

import logging
import os
import secrets

from footplate import environ
from footplate.client import home as homes
from footplate.disk import atomic_write
from footplate.errors import InvalidInput, NotAllowed

log = logging.getLogger(__name__)


def server_token(home: str, token_file: str | None) -> str:
    """Return the token from `token_file`, else FOOTPLATE_TOKEN, else the home's own. The log names only the file."""
    if token_file is not None:
        return _read(token_file)
    token = os.environ.get(environ.TOKEN)
    if token:
        return _check(token.strip(), environ.TOKEN)
    path = os.path.join(home, homes.TOKEN)
    if not os.path.exists(path):
        atomic_write(path, f"{secrets.token_urlsafe(32)}\n".encode("ascii"), durable=True, mode=0o600)
    log.info("the token of this server is in %s", path)
    return _read(path)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            token = file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise InvalidInput(
            f"the token file {path} cannot be read: {reason}", "name a file that holds one token"
        ) from None
    if mode & 0o077:
        raise NotAllowed(f"the token file {path} is open to other users", f"close it with: chmod 600 {path}")
    return _check(token, path)


def _check(token: str, source: str) -> str:
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidInput(f"{source} does not hold a token", "a token is one line of letters, digits and signs")
    return token
