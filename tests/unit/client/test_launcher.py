"""Decisions of the launcher that start nothing; real processes are in tests/e2e/test_server_process.py."""

from __future__ import annotations

import fcntl
import os
import sys

import pytest

from footplate import __version__
from footplate.client import connect, launcher
from footplate.client import home as homes
from footplate.client.http import unix_endpoint
from footplate.errors import Unavailable


def test_a_server_started_by_hand_is_not_restarted_by_others(tmp_path):
    record = {"version": __version__, "socket": str(tmp_path / "s"), "managed": False, "url": "http://h:1"}
    homes.write_record(str(tmp_path), record)
    with pytest.raises(Unavailable, match="started by hand"):
        launcher.ensure_server(str(tmp_path))


def test_clients_of_a_server_started_by_hand_wait_for_it(tmp_path):
    path = str(tmp_path / "s")
    homes.write_record(str(tmp_path), {"version": "99", "socket": path, "managed": False})
    assert launcher.revive_server(str(tmp_path)) == unix_endpoint(path)
    assert os.listdir(tmp_path) == ["server.json"]


def test_status_and_stop_without_any_server(tmp_path):
    status = launcher.server_status(str(tmp_path))
    assert (status["running"], status["pid"], status["home"]) == (False, None, str(tmp_path))
    assert launcher.stop_server(str(tmp_path)) is False
    assert os.listdir(tmp_path) == []


def test_checking_a_lock_does_not_take_it(tmp_path):
    path = str(tmp_path / "server.lock")
    assert not launcher.is_locked(path)
    holder = os.open(path, os.O_RDWR | os.O_CREAT)
    assert not launcher.is_locked(path)
    fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert launcher.is_locked(path)
    os.close(holder)
    assert not launcher.is_locked(path)


def test_the_servers_environment_has_no_variables_of_a_job(monkeypatch):
    for name in ("FOOTPLATE_RUN_ID", "AZUREML_RUN_ID", "FOOTPLATE_TOKEN", "FOOTPLATE_ENDPOINT", "FOOTPLATE_RANK"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("PYTHONPATH", "/the/users/modules")
    monkeypatch.setenv("FOOTPLATE_IDLE_SECONDS", "5")
    variables = launcher._variables("/h", {"pythonpath": "/ours"})
    ours = {name: value for name, value in variables.items() if name.startswith(("FOOTPLATE", "AZUREML", "PYTHON"))}
    ours.pop("PYTHONUNBUFFERED", None)
    assert ours.pop("FOOTPLATE_AGENT") == "server", "the run that started it does not end it"
    assert ours == {"FOOTPLATE_HOME": "/h", "FOOTPLATE_IDLE_SECONDS": "5", "PYTHONPATH": "/ours"}


def test_interpreter_of_the_server(monkeypatch):
    assert launcher._python({"python": "/bin/sh"}) == sys.executable
    monkeypatch.setenv("FOOTPLATE_RUN_ID", "r")
    assert launcher._python({"python": "/bin/sh"}) == "/bin/sh"
    assert launcher._python({"python": "/gone/python"}) == sys.executable


def test_a_token_is_sent_to_its_own_server_only(monkeypatch):
    monkeypatch.setenv("FOOTPLATE_TOKEN", "t")
    assert connect(endpoint="http://a:1").token == "t"
    monkeypatch.setenv("FOOTPLATE_ENDPOINT", "http://a:1")
    assert connect(endpoint="http://a:1").token == "t"
    assert connect(endpoint="http://b:1").token is None
    assert connect(endpoint="http://b:1", token="u").token == "u"
