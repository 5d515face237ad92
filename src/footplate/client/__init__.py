"""The way to a server. STDLIB ONLY, Python ≥ 3.8, and quick to import: it is used inside jobs.

`connect()` is the door: it finds or starts the server and gives the `Transport` through which everything else goes.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Optional

from footplate import environ
from footplate.client.home import home_folder, home_of_socket
from footplate.client.http import parse_endpoint
from footplate.client.launcher import ensure_server, revive_server
from footplate.client.transport import ApiResponse, Transport

__all__ = ["ApiResponse", "Transport", "connect", "home_folder"]


def connect(home: Optional[str] = None, endpoint: Optional[str] = None, token: Optional[str] = None) -> Transport:
    """A transport to the server at `endpoint` (or FOOTPLATE_ENDPOINT), else to the one of the home folder.

    The home's own server is started when it does not run, and brought back whenever it is found gone.
    """
    named = os.environ.get(environ.ENDPOINT)
    endpoint = endpoint or (None if home else named)
    if endpoint is None:
        folder = home_folder(home)
        return Transport(ensure_server(folder), starter=partial(revive_server, folder))
    if token is None and endpoint == (named or endpoint):  # a token for one server is not shown to another
        token = os.environ.get(environ.TOKEN)
    path = parse_endpoint(endpoint).socket
    owner = home_of_socket(path) if path else None
    # The agent that started a job told it where the server is, which may be away for the moment.
    is_known = endpoint == named and environ.RUN_ID in os.environ
    return Transport(endpoint, token, partial(revive_server, owner) if owner else None, is_known=is_known)
