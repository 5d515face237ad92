"""`python -m footplate.serving.gateway --home HOME [--host HOST] [--port PORT]`

The gateway holds `serving/gateway.lock` for its life, so there is one per home. It reads `serving/routes.json`
whenever that changes and writes its own address to `serving/gateway.json`. It writes what it knows of its services to
`serving/status.json` each second, and at once when workers come or go or a request finds none. It prefers the port of
the last gateway, so that addresses stay valid. It ends by itself when there have been no services for a while, or when
its folder is gone.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import json
import logging
import os
import resource
import signal
import ssl
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from footplate.disk import FileLock, atomic_write
from footplate.domain.codec import from_json, to_json
from footplate.domain.serving.routes import GatewayAddress, GatewayStatus, Routes, ServiceRoute
from footplate.errors import InvalidInput
from footplate.serving.gateway.application import GatewayApplication
from footplate.serving.gateway.dispatch import ServicePool
from footplate.serving.gateway.http import HttpConnection
from footplate.serving.gateway.memory import DEFAULT_BYTES, Memory
from footplate.serving.gateway.tunnels import TunnelPort

LOOK_SECONDS = 0.1
STATUS_SECONDS = 1.0
IDLE_SECONDS = 2.0
DRAIN_SECONDS = 30.0
BACKLOG = 1024
LOCK_SECONDS = 2.0
_M_MMAP_THRESHOLD = -3  # of malloc.h
_LARGE_BLOCK = 256 * 1024
log = logging.getLogger("footplate.gateway")


@dataclass
class OwnPort:
    """The port of one service, and the file of the certificate that its TLS context has."""

    server: asyncio.Server
    tls: ssl.SSLContext | None = None
    certificate: str | None = None


class Gateway:
    """The process as a whole."""

    def __init__(self, home: Path, host: str, port: int) -> None:
        self._folder = home / "serving"
        self._host = host
        self._port = port
        self._pools: dict[str, ServicePool] = {}
        self._own_ports: dict[tuple[str, int, bool], OwnPort] = {}
        self._connections: set[HttpConnection] = set()
        self._memory = Memory()
        self._seen: tuple[int, int] | None = None
        self._revision: int | None = None
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Serve until SIGTERM, or until there has been nothing to serve for a while."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        server = await self._listen_somewhere()
        self._port = server.sockets[0].getsockname()[1]
        url = f"http://{self._host}:{self._port}"
        self._write("gateway.json", GatewayAddress(os.getpid(), self._port, url))
        await self._look()
        tunnels = TunnelPort(self._pools)
        last_busy = next_status = time.monotonic()
        written: Any = None
        while not self._stopping.is_set() and self._folder.exists():
            await self._look()
            now = time.monotonic()
            last_busy = now if self._pools else last_busy
            if now - last_busy > IDLE_SECONDS:
                break
            urgent = self._urgent_status()
            if now >= next_status or urgent != written:
                next_status = now + STATUS_SECONDS
                written = urgent
                self._write("status.json", self._status())
            await self._sleep(LOOK_SECONDS)
        tunnels.close()
        await self._end(server)

    async def _listen_somewhere(self) -> asyncio.Server:
        """Listen on the port that was given, on that of the last gateway, or on any."""
        if self._port:
            return await self._listen(None, self._host, self._port)
        try:
            last = from_json(GatewayAddress, json.loads((self._folder / "gateway.json").read_bytes()))
            return await self._listen(None, self._host, last.port)
        except (OSError, ValueError, InvalidInput):
            return await self._listen(None, self._host, 0)

    async def _sleep(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except asyncio.TimeoutError:
            pass

    async def _listen(self, only: str | None, host: str, port: int, tls: Any = None) -> asyncio.Server:
        application = GatewayApplication(self._pools, only)
        return await asyncio.get_running_loop().create_server(
            lambda: HttpConnection(application, self._connections, self._memory), host, port, backlog=BACKLOG, ssl=tls
        )

    # ── Routes ────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _look(self) -> None:
        """Take over the file of routes if it has changed; one that is damaged changes nothing."""
        path = self._folder / "routes.json"
        try:
            file = path.stat()
        except FileNotFoundError:
            return
        seen = (file.st_mtime_ns, file.st_ino)
        if seen == self._seen:
            return
        self._seen = seen
        try:
            routes = from_json(Routes, json.loads(path.read_bytes()))
        except (OSError, ValueError, InvalidInput) as error:
            log.error("routes.json cannot be read, the services stay as they are: %s", error)
            return
        self._revision = routes.revision
        self._memory.total = routes.memory or DEFAULT_BYTES
        for name in set(self._pools) - set(routes.services):
            self._pools.pop(name).close()
        for name, service in routes.services.items():
            if name in self._pools:
                self._pools[name].update(service)
            else:
                self._pools[name] = ServicePool(name, service, self._memory)
        await self._listen_on_own_ports(routes.services)

    async def _listen_on_own_ports(self, services: dict[str, ServiceRoute]) -> None:
        with_port = {
            (name, service.port, service.tls is not None): service
            for name, service in services.items()
            if service.port is not None
        }
        for key in set(self._own_ports) - set(with_port):
            self._own_ports.pop(key).server.close()
        for key, service in with_port.items():
            try:
                await self._listen_on_own_port(key, service)
            except OSError as error:  # also of a certificate that cannot be read
                log.error("service %s cannot have port %s: %s", key[0], service.port, error)

    async def _listen_on_own_port(self, key: tuple[str, int, bool], service: ServiceRoute) -> None:
        """Open the port, or take over a renewed certificate: new connections get it, and open ones stay."""
        own = self._own_ports.get(key)
        if own is None:
            tls = None if service.tls is None else ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            if tls is not None and service.tls is not None:
                tls.load_cert_chain(service.tls)
            self._own_ports[key] = OwnPort(await self._listen(key[0], self._host, key[1], tls), tls, service.tls)
        elif own.tls is not None and service.tls not in (None, own.certificate):
            own.tls.load_cert_chain(str(service.tls))
            own.certificate = service.tls

    # ── Files ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _urgent_status(self) -> Any:
        """Return what the server wants to know at once: who is up, and whether requests wait for nobody."""
        pools = [(name, v, p) for name, pool in self._pools.items() for v, p in pool.all_pools.items()]
        return self._revision, [(name, v, p.healthy, bool(p.waiting and not p.healthy)) for name, v, p in pools]

    def _status(self) -> GatewayStatus:
        services = {
            name: {version: pool.figures() for version, pool in service.all_pools.items()}
            for name, service in self._pools.items()
        }
        ports = [port for _, port, _ in self._own_ports]
        return GatewayStatus(time.time(), os.getpid(), self._revision, services, ports)

    def _write(self, name: str, value: GatewayAddress | GatewayStatus) -> None:
        try:
            atomic_write(self._folder / name, json.dumps(to_json(value)).encode(), durable=False)
        except OSError as error:
            log.error("%s cannot be written: %s", name, error)

    async def _end(self, server: asyncio.Server) -> None:
        """Take no more connections, answer what is here, then go."""
        for listener in (server, *(own.server for own in self._own_ports.values())):
            listener.close()
        for connection in list(self._connections):
            connection.shut_down()
        await asyncio.gather(*(p.drain(DRAIN_SECONDS) for pool in self._pools.values() for p in pool.pools.values()))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m footplate.serving.gateway")
    parser.add_argument("--home", required=True, type=Path)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", default=0, type=int)
    options = parser.parse_args(arguments)
    folder: Path = options.home.absolute() / "serving"
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / "gateway.lock")  # for the rest of this process
    if not lock.try_take(seconds=LOCK_SECONDS):
        return 0  # another gateway serves this home
    os.chdir(folder)  # sockets with long paths are reached by a path relative to it
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    with contextlib.suppress(AttributeError, OSError):  # only glibc has this; it keeps freed large bodies otherwise
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    async def serve() -> None:
        await Gateway(options.home.absolute(), options.host, options.port).run()

    asyncio.run(serve())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
