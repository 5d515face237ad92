from __future__ import annotations

import shutil

import pytest

from footplate.environments.subprocesses import stream
from footplate.environments.uv import run_uv

PRIVILEGES = ["sh", "-c", "grep NoNewPrivs /proc/self/status; env"]


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv, of util-linux")
def test_builds_cannot_gain_privileges() -> None:
    done = stream(PRIVILEGES, print, {"PATH": "/usr/bin:/bin"}, unprivileged=True)
    assert "NoNewPrivs:\t1" in done.output
    assert "NoNewPrivs:\t0" in stream(PRIVILEGES, print, {"PATH": "/usr/bin:/bin"}).output


def test_uv_sees_no_variables_of_the_servers_starter(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    """A fake uv prints its environment."""
    program = tmp_path / "uv"
    program.write_text("#!/bin/sh\nenv\n")
    program.chmod(0o755)
    monkeypatch.setattr("footplate.environments.uv.find_uv", lambda: str(program))
    for name in ("FOOTPLATE_TOKEN", "AWS_SECRET_ACCESS_KEY", "PYTHONPATH", "UV_PUBLISH_TOKEN"):
        monkeypatch.setenv(name, "a-secret")
    monkeypatch.setenv("UV_INDEX_URL", "https://index.example.com")
    _, output, _ = run_uv(["version"], print)
    assert "UV_INDEX_URL=https://index.example.com" in output
    assert "a-secret" not in output
