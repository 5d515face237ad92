"""Tokens that `footplate login` stored: one per server, in a file that only its user can read.

STANDARD LIBRARY ONLY, Python ≥ 3.8.
"""

from __future__ import annotations

import json
import os
from typing import Dict, Optional
from urllib.parse import urlsplit

from footplate.client.home import home_folder
from footplate.disk import atomic_write
from footplate.errors import InvalidInput, NotAllowed

NAME = "credentials.json"


def stored_token(server: str) -> Optional[str]:
    """Return the token for the server at this address; None if nobody logged in there."""
    return _read().get(_origin(server))


def store_token(server: str, token: str) -> str:
    """Store the token for a server in place of an earlier one, and return the path of the file."""
    _write({**_read(), _origin(server): token})
    return _path()


def forget_token(server: str) -> bool:
    """Forget the token for a server; return whether there was one."""
    tokens = _read()
    is_stored = tokens.pop(_origin(server), None) is not None
    if is_stored:
        _write(tokens)
    return is_stored


def _origin(server: str) -> str:
    """Return scheme, host and port: one server's token is never sent to another one."""
    parts = urlsplit(server)
    port = parts.port or {"https": 443, "http": 80}.get(parts.scheme, 0)
    return f"{parts.scheme}://{parts.hostname}:{port}"


def _path() -> str:
    return os.path.join(home_folder(), NAME)


def _read() -> Dict[str, str]:
    path = _path()
    try:
        with open(path, encoding="utf-8") as file:
            if os.fstat(file.fileno()).st_mode & 0o077:
                raise NotAllowed(f"{path} holds tokens and is open to other users", f"close it with: chmod 600 {path}")
            tokens = json.load(file)
    except FileNotFoundError:
        return {}
    except ValueError:
        raise InvalidInput(f"{path} is not valid JSON", "remove it, then: footplate login") from None
    return {str(server): str(token) for server, token in tokens.items()}


def _write(tokens: Dict[str, str]) -> None:
    atomic_write(_path(), json.dumps(tokens, indent=1).encode("utf-8"), durable=True, mode=0o600)
