"""The connection to a server. STANDARD LIBRARY ONLY, Python ≥ 3.8, and quick to import: jobs use it.

`connect()` finds or starts the server and returns the `Transport` that carries every request.

    credentials tokens that `footplate login` stored
    home        the home folder: its location, its files, and the last server's record of itself
    http        HTTP/1.1 over one socket
    launcher    find, start, replace and stop the server of a home
    transport   requests with retries
"""

from __future__ import annotations

import os
from functools import partial
from typing import Optional

from footplate import environ
from footplate.client.home import home_folder, home_of_socket
from footplate.client.http import parse_endpoint
from footplate.client.launcher import ensure_server, revive_server
from footplate.client.transport import JOB_PATIENCE, PATIENCE, ApiResponse, Transport

__all__ = ["ApiResponse", "Transport", "connect", "home_folder"]


def connect(home: Optional[str] = None, endpoint: Optional[str] = None, token: Optional[str] = None) -> Transport:
    """Return a transport to the server at `endpoint` (or FOOTPLATE_ENDPOINT), else to the server of the home folder.

    The server of the home is started if it does not run, and restarted whenever it is gone.
    """
    named = os.environ.get(environ.ENDPOINT)
    endpoint = endpoint or (None if home else named)
    if endpoint is None:
        folder = home_folder(home)
        return Transport(ensure_server(folder), starter=partial(revive_server, folder))
    if token is None and endpoint == (named or endpoint):  # never show one server's token to another
        token = os.environ.get(environ.TOKEN)
    path = parse_endpoint(endpoint).socket
    if token is None and not path and environ.RUN_ID not in os.environ:
        from footplate.client.credentials import stored_token  # noqa: PLC0415  # jobs and laptops need it not

        token = stored_token(endpoint)
    owner = home_of_socket(path) if path else None
    # The agent that started a job passed the server's address, and that server may be away for a moment.
    is_known = endpoint == named and environ.RUN_ID in os.environ
    patience = JOB_PATIENCE if is_known and not path else PATIENCE
    return Transport(endpoint, token, partial(revive_server, owner) if owner else None, patience, is_known)
