"""Floods of connections: runs go on and complete, and the command line stays usable."""

from __future__ import annotations

import contextlib
import json
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from footplate import Workspace
from footplate.testing.waiting import wait_until
from support.ops_tools import finish, submit

FILES = 1024
"""Open files that the flooded server may have: the usual soft limit, here also the hard one."""

HALF = b"POST /api/v1/workspaces HTTP/1.1\r\nHost: x\r\nContent-Le"
WHOLE = b"POST /api/v1/workspaces HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"
SCRIPT = """
    import os, time
    from azureml.core import Run
    run = Run.get_context()
    for i in range(400):
        print(f"line {i}", flush=True)
        run.log("value", i)
        time.sleep(0.05)
"""


@pytest.fixture
def server(home: Path) -> Iterator[dict[str, Any]]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    argv = [sys.executable, "-m", "footplate.server", "--home", str(home), "--host", "127.0.0.1", "--port", "0"]
    with subprocess.Popen(["prlimit", f"--nofile={FILES}:{FILES}", *argv]) as process:
        wait_until((home / "server.json").exists)
        yield json.loads((home / "server.json").read_text())
        process.terminate()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def dial(family: int, address: Any, words: bytes) -> socket.socket:
    """Open a connection and send something; the server may close it at any moment."""
    connection = socket.socket(family, socket.SOCK_STREAM)
    connection.settimeout(60)
    with contextlib.suppress(ConnectionError):
        connection.connect(address)
        connection.sendall(words)
    return connection


def test_floods_of_connections_do_not_harm_runs(
    home: Path, server: dict[str, Any], workspace: Workspace, project: Path, footplate: Any
) -> None:
    run = submit(workspace, project, SCRIPT)
    wait_until(lambda: run.get_status() == "Running")
    address = ("127.0.0.1", int(server["url"].rpartition(":")[2]))
    with contextlib.ExitStack() as held:
        for words in (HALF, WHOLE):
            for _ in range(650):
                held.enter_context(dial(socket.AF_INET, address, words))
        for _ in range(1010):
            held.enter_context(dial(socket.AF_UNIX, server["socket"], b""))
        assert footplate.json("runs", "show", run.id)["status"] == "Running"
        other = submit(workspace, project, "print('started meanwhile')")
        assert finish(other).get_status() == "Completed"
        assert finish(run).get_status() == "Completed", run.get_details()
    assert run.get_metrics()["value"] == list(range(400))
    assert not any("lost" in line.text or "died" in line.text for line in run.story())
    log = (home / "logs" / "server.log").read_text()
    assert log.count("Traceback") == 0 and len(log) < 20_000, log[-2000:]
