from __future__ import annotations

import os
import stat

import pytest

from footplate.errors import Unavailable
from footplate.server import process


@pytest.fixture
def folder(tmp_path) -> str:
    (tmp_path / "h").mkdir(mode=0o700)
    return str(tmp_path / "h")


def test_socket_is_private_and_named_last(folder):
    path = os.path.join(folder, "socket", "server.sock")
    for _ in range(2):  # a file that an earlier server left is not an obstacle
        door = process._bind_unix(path)
        assert os.listdir(os.path.join(folder, "socket")) == ["server.sock.new"]
        assert stat.S_IMODE(os.stat(os.path.join(folder, "socket")).st_mode) == 0o700
        assert stat.S_IMODE(os.stat(path + ".new").st_mode) == 0o600
        door.close()


def test_taken_port_is_named():
    door = process._bind_tcp("127.0.0.1", 0)
    port = door.getsockname()[1]
    with pytest.raises(Unavailable, match=f"127.0.0.1 port {port}"):
        process._bind_tcp("127.0.0.1", port)
    assert process._url(door) == f"http://127.0.0.1:{port}"
    door.close()
