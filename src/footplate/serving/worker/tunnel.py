"""The connection of a worker on another machine to the gateway: it leads through the server's own address.

Nodes make outgoing connections only, and the server is the one address that they reach. The run's own token opens it.
"""

from __future__ import annotations

import os
import socket

from footplate import environ
from footplate.api import ApiClient
from footplate.client.transport import Transport
from footplate.serving.protocol import TUNNEL


def connect() -> socket.socket:
    """Open a connection to the gateway as the run of this process; raise a FootplateError if that fails now."""
    transport = Transport(os.environ[environ.ENDPOINT], os.environ.get(environ.TOKEN))
    attempt = int(os.environ[environ.ATTEMPT])
    return ApiClient(transport).nodes.open_tunnel(os.environ[environ.RUN_ID], TUNNEL, attempt)
