"""The gateway as the server sees it: it starts on demand, reads its routes from a file and writes its status to one.

The gateway outlives the server. It holds `serving/gateway.lock` for life, so a lock that is free means that none runs.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TypeVar

from footplate import environ
from footplate.disk import atomic_write, is_locked, socket_address
from footplate.domain.codec import from_json, to_json
from footplate.domain.inherited_variables import agent_variables
from footplate.domain.serving.routes import GatewayAddress, GatewayStatus, Routes, ServiceRoute
from footplate.errors import InvalidInput, Unavailable
from footplate.serving.gateway.tunnels import NAME as PORT

T = TypeVar("T")
FRESH_SECONDS = 5.0
"""A status that is older than this says nothing about the gateway of now."""


class GatewayProcess:
    def __init__(self, home: Path, memory: int) -> None:
        self._home = home
        self._memory = memory
        self.folder = home / "serving"
        self._written: dict[str, ServiceRoute] | None = None
        self._revision = 0
        self._process: subprocess.Popen[bytes] | None = None

    # ── Routes ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def write_routes(self, services: dict[str, ServiceRoute]) -> None:
        """Make these the gateway's services. It takes them over within a tenth of a second."""
        if services == self._written:
            return
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        revision = max(time.time_ns(), self._revision + 1)
        document = json.dumps(to_json(Routes(revision, self._memory, services))).encode()
        atomic_write(self.folder / "routes.json", document, durable=True, mode=0o600)
        self._written, self._revision = services, revision

    def is_current(self, status: GatewayStatus | None) -> bool:
        """Whether the gateway that wrote this status follows the newest routes."""
        return status is not None and status.revision == self._revision

    # ── The process ───────────────────────────────────────────────────────────────────────────────────────────────────

    def ensure(self) -> None:
        """Start a gateway unless one runs. Two that start at once are harmless: the lock decides."""
        if self._process is not None and self._process.poll() is None:
            return
        if self.is_running():
            return
        (self._home / "logs").mkdir(exist_ok=True)
        with (self._home / "logs" / "gateway.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "footplate.serving.gateway", "--home", str(self._home)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, start_new_session=True,
                env={**agent_variables(os.environ), environ.HOME: str(self._home)},
            )  # fmt: skip

    def is_running(self) -> bool:
        return is_locked(self.folder / "gateway.lock")

    def hand_over(self, run: str, descriptor: int) -> None:
        """Give a connection of a worker on another machine to the gateway; raise Unavailable if none takes it."""
        try:
            with (
                socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as port,
                socket_address(self.folder / PORT) as path,
            ):
                port.setblocking(False)
                port.connect(path)
                socket.send_fds(port, [run.encode()], [descriptor])
        except OSError as error:
            raise Unavailable(f"the gateway takes no connection now: {error.strerror}", "try again") from None

    # ── What it writes ────────────────────────────────────────────────────────────────────────────────────────────────

    def status(self) -> GatewayStatus | None:
        """Return the last status of a gateway that runs; None without one."""
        status = self._read("status.json", GatewayStatus)
        return status if status is not None and time.time() - status.time < FRESH_SECONDS else None

    def url(self) -> str | None:
        """Return the address of the gateway; that of the last one, while the next one starts."""
        address = self._read("gateway.json", GatewayAddress)
        return None if address is None else address.url

    def _read(self, name: str, kind: type[T]) -> T | None:
        try:
            return from_json(kind, json.loads((self.folder / name).read_bytes()))
        except (OSError, ValueError, InvalidInput):
            return None
