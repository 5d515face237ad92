"""Decisions of the launcher that start nothing; real processes are in tests/e2e/test_server_process.py."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile

import pytest

from footplate import __version__
from footplate.client import connect, launcher
from footplate.client import home as homes
from footplate.errors import Conflict


@pytest.fixture
def listening():
    """Yield a home in which something listens, and the record that describes it."""
    folder = tempfile.mkdtemp(prefix="l", dir="/tmp")
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    door.bind(os.path.join(folder, "server.sock"))
    door.listen(16)

    def record(**changes) -> str:
        known = {"pid": os.getpid(), "version": __version__, "socket": os.path.join(folder, "server.sock")}
        homes.write_record(folder, {**known, **changes})
        return folder

    yield record
    door.close()
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    os.rmdir(folder)


def test_a_listening_server_of_our_version_is_used(listening):
    home = listening()
    assert launcher.ensure_server(home) == f"unix://{home}/server.sock"
    assert sorted(os.listdir(home)) == ["server.json", "server.sock"]


def test_a_job_takes_any_version(listening, monkeypatch):
    home = listening(version="99")
    assert launcher.revive_server(home) == f"unix://{home}/server.sock"
    monkeypatch.setenv("FOOTPLATE_RUN_ID", "r")
    assert launcher.ensure_server(home) == f"unix://{home}/server.sock"


def test_a_server_started_by_hand_is_never_replaced(listening):
    home = listening(version="99", managed=False, url="http://10.0.0.1:80")
    with pytest.raises(Conflict, match=r"http://10.0.0.1:80 is of version 99"):
        launcher.ensure_server(home)


def test_a_dead_process_is_not_alive_even_as_a_zombie():
    process = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.read()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert not launcher._is_alive(process.pid)
    process.wait()
    process.stdout.close()
    assert not launcher._is_alive(process.pid)
    assert launcher._is_alive(os.getpid())


def test_connect_by_variables(monkeypatch, listening):
    home = listening()
    monkeypatch.setenv("FOOTPLATE_ENDPOINT", f"unix://{home}/server.sock")
    monkeypatch.setenv("FOOTPLATE_TOKEN", "t")
    transport = connect()
    assert (transport.endpoint, transport.token, transport.is_local) == (f"unix://{home}/server.sock", "t", True)
    assert connect(home=home).token is None


def test_the_client_is_light_to_import():
    """Modules that would slow the start of a job are absent: ssl, asyncio, subprocess, http.client."""
    heavy = "{'ssl', 'asyncio', 'subprocess', 'http.client', 'email', 'tempfile', 'hashlib', 'typing_extensions'}"
    code = f"import footplate.client, sys; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
