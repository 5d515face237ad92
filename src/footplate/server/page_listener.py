"""The loopback port of the page of a laptop's server: opened on request, and the same one each time."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import zlib
from collections.abc import Callable, Coroutine

from footplate.disk import atomic_write
from footplate.errors import Unavailable
from footplate.server.browser import BrowserRules, hosts_of

PORT_FILE = "page_port"
_FIRST_PORT, _PORTS = 20_000, 10_000

Serve = Callable[[socket.socket, BrowserRules], Coroutine[None, None, None]]


def port_of_home(home: str) -> int:
    """Return the port of a home: the one that it had before, or else one that follows from its path."""
    with contextlib.suppress(OSError, ValueError), open(os.path.join(home, PORT_FILE), encoding="ascii") as file:
        return int(file.read())
    return _FIRST_PORT + zlib.crc32(os.fsencode(home)) % _PORTS


class TeamPage:
    """The page of a team server, which is on the server's own port from the start."""

    def __init__(self, address: str) -> None:
        self.address = address

    async def open(self) -> str:
        return self.address


class PageListener:
    """Opens the port once. It lives on the event loop."""

    def __init__(self, home: str, cookie_name: str, serve: Serve) -> None:
        self._home = home
        self._cookie_name = cookie_name
        self._serve = serve
        self._opening = asyncio.Lock()
        self._is_open = False
        self._port = port_of_home(home)

    @property
    def address(self) -> str:
        """The address of the page, also before it is opened: links to it stay valid."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def was_opened(self) -> bool:
        """Whether an earlier server of this home opened the page."""
        return os.path.exists(os.path.join(self._home, PORT_FILE))

    async def open(self) -> str:
        """Return the address of the page; listen there if nobody does so yet."""
        async with self._opening:
            if not self._is_open:
                listener = _bind(self._port)
                self._port = listener.getsockname()[1]
                hosts = hosts_of([self.address, f"http://localhost:{self._port}"])
                await self._serve(listener, BrowserRules(hosts, self._cookie_name, only_browsers=True))
                path = os.path.join(self._home, PORT_FILE)
                atomic_write(path, str(self._port).encode("ascii"), durable=False, mode=0o600)
                self._is_open = True
            return self.address


def _bind(port: int) -> socket.socket:
    """Bind the port, or another one if a different program has it."""
    for candidate in (port, 0):
        with contextlib.suppress(OSError):
            return socket.create_server(("127.0.0.1", candidate))
    raise Unavailable("no port on 127.0.0.1 can be opened", "look at the limits of this machine with: ulimit -a")
