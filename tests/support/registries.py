"""A container registry on this machine with a password, for tests."""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

USERNAME, PASSWORD = "puller", "Pa55-w0rd"
_HASHED = "$2b$04$TLA1qJ/bdqRPPtxJEmzOIuUXIi0TfQB/HNDvw/NexUcxmPc2c63Gi"  # bcrypt, which the registry requires
_START_SECONDS = 60.0


def why_not() -> str | None:
    """Return why a registry cannot run here, or None if it can."""
    if shutil.which("docker-registry") is None:
        return "docker-registry is not installed (scripts/system_packages.sh installs it on Debian)"
    return None


@dataclass(frozen=True)
class Registry:
    address: str
    variables: dict[str, str]  # makes podman accept a registry without a certificate

    def push(self, image: str, name: str) -> str:
        """Push the image, remove it from this machine under its new address, and return that address."""
        there = f"{self.address}/{name}"
        self._podman("push", "--quiet", "--creds", f"{USERNAME}:{PASSWORD}", image, there)
        return there

    def _podman(self, *arguments: str) -> None:
        variables = {**os.environ, **self.variables}
        subprocess.run(["podman", *arguments], env=variables, check=True, capture_output=True, timeout=300)


@contextlib.contextmanager
def registry(folder: Path) -> Generator[Registry]:
    """Run a registry on the loopback interface that stores everything below `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    (folder / "users").write_text(f"{USERNAME}:{_HASHED}\n", encoding="utf-8")
    (folder / "config.yml").write_text(
        f"version: 0.1\nlog: {{level: error, accesslog: {{disabled: true}}}}\nhttp: {{addr: '{address}'}}\n"
        f"storage: {{filesystem: {{rootdirectory: '{folder}/images'}}}}\n"
        f"auth: {{htpasswd: {{realm: tests, path: '{folder}/users'}}}}\n",
        encoding="utf-8",
    )
    (folder / "registries.conf").write_text(
        f'[[registry]]\nlocation = "{address}"\ninsecure = true\n', encoding="utf-8"
    )
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            ["docker-registry", "serve", str(folder / "config.yml")], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        _wait(address, process, folder / "log")
        yield Registry(address, {"CONTAINERS_REGISTRIES_CONF": str(folder / "registries.conf")})
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    shown = base64.b64encode(f"{USERNAME}:{PASSWORD}".encode()).decode()
    request = urllib.request.Request(f"http://{address}/v2/", headers={"Authorization": f"Basic {shown}"})
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            with urllib.request.urlopen(request, timeout=10):
                return
        time.sleep(0.05)
    raise RuntimeError(f"docker-registry does not answer: {log.read_text(encoding='utf-8', errors='replace')}")
