"""A gateway of a throw-away home, and workers that answer with entry scripts: real processes, as in a service."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from footplate.testing.waiting import wait_until

ECHO = "def run(data):\n return data\n"


class GatewayProcess:
    """One gateway and the workers of its services."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / "serving"
        self.folder.mkdir(parents=True)
        self.services: dict[str, Any] = {}
        self.revision = 0
        self.memory: int | None = None
        self.workers: list[subprocess.Popen[bytes]] = []
        self.process = self._start()
        wait_until((self.folder / "gateway.json").exists)
        self.port = int(json.loads((self.folder / "gateway.json").read_text())["port"])

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-m", "footplate.serving.gateway", "--home", str(self.home)])

    def worker(self, name: str, script: str = ECHO, **config: Any) -> str:
        """Start a worker and return its socket, which appears when it is ready."""
        folder = self.home / "workers" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "score.py").write_text(script)
        described = {"service": name, "version": "1", "socket": str(folder / "w.sock"), "models": []}
        described.update(config or {"entry_script": "score.py", "source": str(folder)})
        (folder / "config.json").write_text(json.dumps(described))
        command = [sys.executable, "-m", "footplate.serving.worker", str(folder / "config.json")]
        self.workers.append(subprocess.Popen(command))
        return str(folder / "w.sock")

    def route(self, name: str, sockets: dict[str, list[str]] | list[str], **options: Any) -> None:
        """Write the routes with this service, and wait until its workers are connected."""
        by_version = sockets if isinstance(sockets, dict) else {"1": sockets}
        versions = {key: {"sockets": paths, **options.pop(f"version_{key}", {})} for key, paths in by_version.items()}
        self.services[name] = {"versions": versions, **options}
        self.write()
        wanted = {key: len(paths) for key, paths in by_version.items()}
        wait_until(lambda: self.healthy(name) == wanted)

    def write(self) -> None:
        aside = self.folder / "routes.new"
        self.revision += 1
        aside.write_text(json.dumps({"revision": self.revision, "memory": self.memory, "services": self.services}))
        os.replace(aside, self.folder / "routes.json")

    def follow(self) -> None:
        """Wait until the gateway has read the newest routes."""
        status = self.folder / "status.json"
        wait_until(lambda: status.exists() and json.loads(status.read_text())["revision"] == self.revision)

    def healthy(self, name: str) -> dict[str, int]:
        return {key: version["healthy"] for key, version in self.status(name).items()}

    def status(self, name: str) -> dict[str, Any]:
        path = self.folder / "status.json"
        return json.loads(path.read_text())["services"].get(name, {}) if path.exists() else {}

    def client(self, port: int | None = None) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=60)

    def ask(
        self, path: str, body: bytes | None = b"{}", method: str = "POST", **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        client = self.client()
        try:
            client.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
            response = client.getresponse()
            return response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()
        finally:
            client.close()

    def score(self, name: str, body: bytes = b"{}", **headers: str) -> tuple[int, dict[str, str], bytes]:
        return self.ask(f"/api/v1/service/{name}/score", body, **headers)

    def stop(self) -> None:
        for process in [*self.workers, self.process]:
            if process.poll() is None:
                process.terminate()
        for process in [*self.workers, self.process]:
            try:
                process.wait(120)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[GatewayProcess]:
    started = GatewayProcess(tmp_path / "home")
    try:
        yield started
    finally:
        started.stop()
