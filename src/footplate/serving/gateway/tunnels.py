"""Connections of workers on other machines, which the server has accepted and hands over to the gateway.

A worker on another machine sends the server a request to switch protocols (HTTP's `Upgrade`). The server checks the
token of its run and passes the socket on, as one datagram with the run's id and the descriptor (`SCM_RIGHTS`). So the
connection does not depend on the server any more, and the worker needs to reach no other port.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Mapping

from footplate.serving.gateway.dispatch import ServicePool
from footplate.serving.protocol import TUNNEL, detect_loss

NAME = "gateway.sock"
LONGEST_MESSAGE = 4096
SWITCHED = f"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {TUNNEL}\r\n\r\n".encode()
REFUSED = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

log = logging.getLogger("footplate.gateway")


class TunnelPort:
    """The socket at which the server hands connections over. It is in the current directory, the gateway's own."""

    def __init__(self, pools: Mapping[str, ServicePool]) -> None:
        self._pools = pools
        with contextlib.suppress(FileNotFoundError):
            os.unlink(NAME)
        self._port = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._port.setblocking(False)
        self._port.bind(NAME)
        os.chmod(NAME, 0o600)
        asyncio.get_running_loop().add_reader(self._port, self._receive)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._port)
        self._port.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(NAME)

    def _receive(self) -> None:
        try:
            message, descriptors, _, _ = socket.recv_fds(self._port, LONGEST_MESSAGE, 1)
        except OSError as error:
            log.error("a connection of a worker could not be taken over: %s", error)
            return
        for descriptor in descriptors:
            self._take(message.decode("utf-8", "replace"), socket.socket(fileno=descriptor))

    def _take(self, run: str, connection: socket.socket) -> None:
        connection.setblocking(False)
        pools = [version for service in self._pools.values() for version in service.all_pools.values()]
        pool = next((pool for pool in pools if run in pool.version.tunnels), None)
        try:
            detect_loss(connection)
            if pool is not None:
                pool.accept(run, connection, SWITCHED)
                return
            connection.send(REFUSED)  # it tries again: the routes may be on their way
        except OSError as error:
            log.warning("the connection of worker %s is lost: %s", run, error)
        connection.close()
