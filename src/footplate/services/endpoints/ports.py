"""Ports of services that have one of their own: local services, and services with a certificate."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping

from footplate.errors import Conflict

HINT = "choose another port, or leave it out: the server chooses a free one"
CLOSING_SECONDS = 2.0
"""How long a port may stay open that the gateway is about to close, because its service was just deleted."""


def choose_port(wanted: int | None, before: int | None, others: Mapping[int, str]) -> int:
    """Return the port that a service gets: the given one, the one that it has, or any free one.

    `others` maps the ports of other services to their names.

    Raises:
        Conflict: Another service or another program has the port.
    """
    if wanted is None or wanted == before:
        return before or _bind(0)
    if wanted in others:
        raise Conflict(f"port {wanted} belongs to service {others[wanted]!r}", HINT)
    end = time.monotonic() + CLOSING_SECONDS
    while True:
        try:
            return _bind(wanted)
        except OSError as error:
            if time.monotonic() >= end:
                raise Conflict(f"port {wanted} of the server's machine cannot be opened: {error}", HINT) from None
        time.sleep(0.05)


def _bind(port: int) -> int:
    """Return the port if it can be opened, as the gateway will. 0 stands for any."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
        return probe.getsockname()[1]
