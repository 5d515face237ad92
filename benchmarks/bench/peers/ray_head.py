"""A Ray head on its own ports. It stops exactly what it started: `ray stop` would stop every Ray on the machine."""

from __future__ import annotations

import os
import signal
import subprocess
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from bench.harness import wait_for
from bench.machine import free_port, tool

_MARK = "FOOTPLATE_BENCH_RAY"


@contextmanager
def ray_head(folder: Path) -> Iterator[str]:
    """Start a Ray head and return the address of its Jobs API."""
    mark = uuid.uuid4().hex
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with (folder / "ray.log").open("wb") as log:
        head = subprocess.Popen(
            _command(folder, port),
            env={**os.environ, _MARK: mark},
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        wait_for(f"the Jobs API of Ray ({folder / 'ray.log'})", lambda: _answers(address, head), 120, 0.2)
        yield address
    finally:
        head.send_signal(signal.SIGTERM)
        try:
            head.wait(20)
        except subprocess.TimeoutExpired:
            head.kill()
        _end_marked(mark)


def _command(folder: Path, port: int) -> list[str]:
    ports = ("--port", "--ray-client-server-port", "--dashboard-agent-listen-port", "--metrics-export-port")
    return [
        *(tool("ray"), "start", "--head", "--block", "--disable-usage-stats", "--include-dashboard=true"),
        *("--node-ip-address=127.0.0.1", "--dashboard-host=127.0.0.1", f"--dashboard-port={port}"),
        *(f"{name}={free_port()}" for name in ports),
        *(f"--temp-dir={folder / 'ray'}", "--num-cpus=2", f"--object-store-memory={100 * 1024 * 1024}"),
    ]


def _answers(address: str, head: subprocess.Popen[bytes]) -> bool | None:
    if head.poll() is not None:
        raise RuntimeError(f"ray start ended with {head.returncode}")
    try:
        with urllib.request.urlopen(f"{address}/api/jobs/", timeout=5) as answer:
            return True if answer.status == 200 else None
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return None


def _end_marked(mark: str) -> None:
    """Kill Ray's services by their marker, because they leave the session of `ray start`."""
    left: list[psutil.Process] = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(_MARK) == mark:
                process.kill()
                left.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
    psutil.wait_procs(left, 10)
