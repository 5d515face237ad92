"""Atomic writes: the old file or the new one, never half of one, and no temporary file left."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

from footplate.disk import (
    FileLock,
    is_locked,
    socket_address,
)


def test_a_lock_lives_as_long_as_a_process_that_inherited_it(tmp_path: Path) -> None:
    with FileLock(tmp_path / "f.lock") as lock:
        lock.take()
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[lock.file])
    assert is_locked(tmp_path / "f.lock")
    child.kill()
    child.communicate()
    assert not is_locked(tmp_path / "f.lock")


def test_a_socket_may_have_a_path_of_any_length(tmp_path: Path) -> None:
    folder = tmp_path / ("d" * 200)
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        with socket_address(folder / "s") as address:
            server.bind(address)
        server.listen()
        with socket_address(folder / "s") as address:
            client.connect(address)
    assert (folder / "s").is_socket()
    with socket_address("/short") as address:
        assert address == "/short"
