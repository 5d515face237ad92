"""One server process: its lock, listeners and log, and its end.

`python -m footplate.server --home HOME [--idle S] [--host H --port P [--token-file F] [--url U]] [--database URL]`

It holds `server.lock` for its whole life, so there is one server per home. It listens on a Unix socket of mode 0600,
and with `--host` on TCP as well, where requests need a token. It ends on SIGTERM, SIGINT, `POST /server/stop`, when its
socket is removed, and, with `--idle`, after that many seconds without a request and without an active run.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvicorn

from footplate import __version__, environ
from footplate.api.tls import encode_authority
from footplate.client import home as homes
from footplate.client.http import unix_endpoint
from footplate.disk import FileLock
from footplate.errors import Conflict, FootplateError, InvalidInput, Unavailable
from footplate.server.app import About, Backend, create_app
from footplate.server.browser import BrowserRules, hosts_of
from footplate.server.connections import PENDING, ConnectionPool, ServerConfig, most_connections
from footplate.server.gate import Gate
from footplate.server.hub import Hub
from footplate.server.logfile import configure_log
from footplate.server.page_listener import PageListener, TeamPage
from footplate.server.tokens import server_token
from footplate.services import Services
from footplate.services.orchestration.agent_jobs import Listeners
from footplate.services.settings import read_passed_variables
from footplate.storage import Storage

log = logging.getLogger(__name__)

KEEP_ALIVE = 120
"""Seconds that a connection may be idle: longer than the 60 to 75 of usual proxies, so that they close it first."""

GRACE = 10
"""Seconds that pending responses get at the end. Long polls are ended at once and need none of it."""

FORCED_END = 40.0
"""Seconds after which a stopping server ends whatever hangs: it must not keep the lock."""

CHECK_SECONDS = 5.0


@dataclass(frozen=True)
class ServerOptions:
    home: str
    idle: float = 0.0  # 0: never
    host: str | None = None
    port: int = 0
    token_file: str | None = None
    database: str | None = None
    url: str | None = None  # the address for other machines, if it is not that of the listener
    ca_file: str | None = None  # authority of the certificate at `url`


Build = Callable[[ServerOptions, Hub, Listeners], AbstractContextManager[Backend]]
"""A context manager: options, the hub and the listeners in; started services out, which it stops at the end."""


@contextmanager
def build_services(options: ServerOptions, hub: Hub, listeners: Listeners) -> Generator[Backend]:
    home = Path(options.home)
    os.environ[environ.PASS_ENVIRONMENT] = read_passed_variables(home)  # agents and builds find it there
    store = Storage.open(home, options.database)
    try:
        services = Services(store, hub.publish, listeners, home)
        services.start()
        try:
            yield services
        finally:
            services.stop()
    finally:
        store.close()


def main(argv: Sequence[str], build: Build = build_services) -> int:
    try:
        options = parse(argv)
        configure_log(options.home)
        take_lock(options.home)  # never released: it ends with the process, not before
    except FootplateError as error:
        print(error, file=sys.stderr)  # noqa: T201  the caller's terminal or, detached, the log
        return 1
    try:
        asyncio.run(_serve(options, build))
    except FootplateError as error:
        log.error("%s", error)
        return 1
    except Exception:
        log.exception("this server cannot continue")
        return 1
    return 0


def parse(argv: Sequence[str]) -> ServerOptions:
    parser = argparse.ArgumentParser(prog="python -m footplate.server")
    parser.add_argument("--home")
    parser.add_argument("--idle", type=float)
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    parser.add_argument("--token-file")
    parser.add_argument("--database")
    parser.add_argument("--url")
    parser.add_argument("--ca-file")
    arguments = parser.parse_args(argv)
    if arguments.host is None and not (
        arguments.port is arguments.token_file is arguments.url is arguments.ca_file is None
    ):
        raise InvalidInput(
            "--port, --token-file, --url and --ca-file are for TCP, which needs --host",
            "add --host, e.g. --host 127.0.0.1",
        )
    idle = arguments.idle
    if idle is None:  # a server that was set up by hand is permanent
        idle = 0.0 if arguments.host or arguments.database else _idle_by_variable()
    home = homes.home_folder(arguments.home)
    address = (arguments.host, arguments.port or 0, arguments.token_file)
    return ServerOptions(home, idle, *address, arguments.database, arguments.url, arguments.ca_file)


def _idle_by_variable() -> float:
    text = os.environ.get(environ.IDLE_SECONDS) or "900"
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"FOOTPLATE_IDLE_SECONDS is {text!r}", "give a number of seconds; 0 means never") from None


def take_lock(home: str) -> int:
    """Return the descriptor that holds the lock. Retry for a moment: other processes take it briefly to check it."""
    lock = FileLock(os.path.join(home, homes.SERVER_LOCK))
    if lock.try_take(seconds=0.5):
        os.ftruncate(lock.file, 0)
        os.pwrite(lock.file, str(os.getpid()).encode(), 0)
        return lock.file
    holder = os.pread(lock.file, 32, 0).decode("ascii", "replace")
    lock.close()
    raise Conflict(
        f"a server of {home} runs already (pid {holder})", "stop it first, its runs continue: footplate server stop"
    )


# ── Serving ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _serve(options: ServerOptions, build: Build) -> None:
    hub = Hub()
    path = homes.socket_path(options.home)
    door = None if options.host is None else _bind_tcp(options.host, options.port)
    url = None if door is None else options.url or _url(door)
    listeners = Listeners(unix_endpoint(path), url, encode_authority(options.ca_file) if options.ca_file else "")
    with build(options, hub, listeners) as services:
        await _Serving(options, services, hub, path, door, listeners.url).run()


class _Serving:
    """A server from its first listener to its last response."""

    def __init__(
        self,
        options: ServerOptions,
        services: Backend,
        hub: Hub,
        path: str,
        door: socket.socket | None,
        url: str | None,
    ) -> None:
        self._options = options
        self._services = services
        self._hub = hub
        self._path = path
        self._door, self._url = door, url
        self._stop = asyncio.Event()
        limit = most_connections()
        self._gate = Gate(self._stop.set, limit // 2)
        self._pool = ConnectionPool(limit)
        self._about = About(database=_hide_password(options))
        self._listeners: list[Listener] = []
        self._tasks: list[asyncio.Future[None]] = []
        cookie = services.sessions.cookie_name
        self._page = TeamPage(url) if url else PageListener(options.home, cookie, self._serve_page)

    async def run(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._stop.set)
        await self._listen(None, _bind_unix(self._path))
        if self._door is not None:
            await self._listen(self._token(), self._door, self._team_rules(self._door))
        await self._open_page_again()
        os.replace(_aside(self._path), self._path)
        inode = _inode(self._path)
        _write_record(self._options, self._path, self._url)
        watcher = asyncio.ensure_future(self._watch(inode))
        await self._stop.wait()
        watcher.cancel()
        await self._end(inode)

    async def _listen(self, token: str | None, door: socket.socket, browser: BrowserRules | None = None) -> None:
        app = create_app(
            self._services, self._hub, token, gate=self._gate, about=self._about, browser=browser, page=self._page
        )
        if door.family != socket.AF_UNIX:  # asyncio sets it only for sockets that were made with a protocol number
            door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener = Listener(app, door, self._pool)
        task = asyncio.ensure_future(listener.serve())
        self._listeners.append(listener)
        self._tasks.append(task)
        while not listener.started:
            if task.done():
                task.result()
            await asyncio.sleep(0.002)
        door.listen(PENDING)

    async def _serve_page(self, door: socket.socket, browser: BrowserRules) -> None:
        await self._listen(self._token(), door, browser)  # browsers prove a session, MLflow's clients the token

    def _token(self) -> str:
        return server_token(self._options.home, self._options.token_file)

    def _team_rules(self, door: socket.socket) -> BrowserRules:
        host, port = door.getsockname()[:2]
        addresses = [self._url or "", _url(door), f"http://{host}:{port}", f"http://localhost:{port}"]
        return BrowserRules(hosts_of(addresses), self._services.sessions.cookie_name)

    async def _open_page_again(self) -> None:
        """Open the page that an earlier server of this home had opened, so that pages which are open continue."""
        if not (isinstance(self._page, PageListener) and self._page.was_opened):
            return
        if await asyncio.to_thread(self._services.sessions.exist):
            with contextlib.suppress(Unavailable):
                await self._page.open()

    async def _end(self, inode: int | None) -> None:
        # A thread that hangs in a system call would keep the lock for ever.
        timer = threading.Timer(FORCED_END, os._exit, (1,))
        timer.daemon = True
        timer.start()
        self._gate.open = False
        # Remove the name first: new clients then find no server, and wait for the lock instead of a response.
        if _inode(self._path) == inode:
            os.unlink(self._path)
        self._hub.close()
        for listener in self._listeners:
            listener.leave()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _watch(self, inode: int | None) -> None:
        """End the server when nobody needs it, and when nobody can reach it."""
        idle = self._options.idle
        while not self._stop.is_set():
            pause = idle - self._gate.idle_seconds() if idle else CHECK_SECONDS
            await asyncio.sleep(min(max(pause, 0.05), CHECK_SECONDS))
            if _inode(self._path) != inode:
                log.warning("the socket %s was removed: this server ends", self._path)
                self._stop.set()
            elif idle and self._gate.idle_seconds() >= idle and await self._is_unneeded():
                log.info("nothing to do for %g s: this server ends", idle)
                self._stop.set()

    async def _is_unneeded(self) -> bool:
        """Tell whether the server may end. The gate is closed meanwhile, so that no run can slip in."""
        self._gate.open = False
        active = await asyncio.to_thread(self._services.active_runs)
        if not active and not self._gate.inside:
            return True
        self._gate.open = True
        self._gate.last = time.monotonic()
        return False


class Listener(uvicorn.Server):
    """One application on one socket. The process handles signals and start-up, not the listener."""

    def __init__(self, app: Any, door: socket.socket, pool: ConnectionPool) -> None:
        super().__init__(
            ServerConfig(
                app,
                pool,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_keep_alive=KEEP_ALIVE,
                timeout_graceful_shutdown=GRACE,
            )
        )
        self.door = door
        self._over = asyncio.Event()

    def leave(self) -> None:
        self.should_exit = True
        self._over.set()

    async def main_loop(self) -> None:
        # uvicorn's own loop checks ten times a second whether to end, and takes that time from the training.
        await self._over.wait()

    def capture_signals(self) -> AbstractContextManager[None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return contextlib.nullcontext()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        await super().serve([self.door])


# ── Sockets and the record ────────────────────────────────────────────────────────────────────────────────────────────


def _aside(path: str) -> str:
    return path + ".new"


def _bind_unix(path: str) -> socket.socket:
    """Bind under a temporary name, so that nobody connects before the server can answer. The caller holds the lock."""
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(_aside(path))
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        door.bind(_aside(path))
    finally:
        os.umask(before)
    return door


def _bind_tcp(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise Unavailable(
            f"cannot listen on {host} port {port}: {error.strerror or error}", "choose another --port or --host"
        ) from None


def _url(door: socket.socket) -> str:
    """Return the address of this listener for other machines: the host's name if it listens on every interface."""
    host, port = door.getsockname()[:2]
    host = os.uname().nodename if host in ("0.0.0.0", "::") else host
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _write_record(options: ServerOptions, path: str, url: str | None) -> None:
    record = {
        "pid": os.getpid(),
        "version": __version__,
        "python": sys.executable,
        "pythonpath": os.environ.get("PYTHONPATH"),
        "socket": path,
        "url": url,
        # A server with its own settings is not restarted by clients that find it gone.
        "managed": options.host is None and options.database is None,
        "started": time.time(),
    }
    homes.write_record(options.home, record)
    log.info("footplate %s serves %s%s", __version__, options.home, f" at {url}" if url else "")


def _inode(path: str) -> int | None:
    try:
        return os.stat(path).st_ino
    except OSError:
        return None


def _hide_password(options: ServerOptions) -> str:
    """Return the database's address without its password."""
    if options.database is None:
        return os.path.join(options.home, "footplate.db")
    parts = urlsplit(options.database)
    user = f"{parts.username}@" if parts.username else ""
    return f"{parts.scheme}://{user}{parts.netloc.rpartition('@')[2]}{parts.path}"
