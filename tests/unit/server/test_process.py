from __future__ import annotations

import os

import pytest

from footplate.errors import Conflict, InvalidInput
from footplate.server import process


@pytest.fixture
def folder(tmp_path) -> str:
    (tmp_path / "h").mkdir(mode=0o700)
    return str(tmp_path / "h")


def test_options(folder):
    assert process.parse(["--home", folder]) == process.ServerOptions(folder, 900.0)
    assert process.parse(["--home", folder, "--idle", "5"]).idle == 5.0


def test_idle_time_by_variable(folder, monkeypatch):
    monkeypatch.setenv("FOOTPLATE_IDLE_SECONDS", "7")
    assert process.parse(["--home", folder]).idle == 7.0
    monkeypatch.setenv("FOOTPLATE_IDLE_SECONDS", "soon")
    with pytest.raises(InvalidInput, match="'soon'"):
        process.parse(["--home", folder])


@pytest.mark.parametrize("settings", [["--host", "127.0.0.1"], ["--database", "postgresql://h/d"]])
def test_a_server_started_by_hand_never_ends_by_itself(folder, settings):
    assert process.parse(["--home", folder, *settings]).idle == 0.0


@pytest.mark.parametrize("settings", [["--port", "1"], ["--token-file", "x"]])
def test_tcp_settings_need_an_address(folder, settings):
    with pytest.raises(InvalidInput, match="--host"):
        process.parse(["--home", folder, *settings])


def test_one_lock_one_server(folder):
    first = process.take_lock(folder)
    with pytest.raises(Conflict, match=rf"runs already \(pid {os.getpid()}\)"):
        process.take_lock(folder)
    os.close(first)
    os.close(process.take_lock(folder))


def test_second_server_reports_the_first_and_ends(folder, capsys):
    lock = process.take_lock(folder)
    assert process.main(["--home", folder]) == 1
    assert "runs already" in capsys.readouterr().err
    os.close(lock)


@pytest.mark.parametrize(
    ("database", "shown"),
    [
        (None, "/h/footplate.db"),
        ("postgresql://me:secret@db:5432/runs?password=secret", "postgresql://me@db:5432/runs"),
        ("postgresql:///runs", "postgresql:///runs"),
    ],
)
def test_database_is_shown_without_its_password(database, shown):
    assert process._hide_password(process.ServerOptions("/h", database=database)) == shown
