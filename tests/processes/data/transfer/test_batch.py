from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from footplate.data.stores.base import SMALL
from footplate.data.stores.registry import open_store
from footplate.data.transfer.batch import download, local_files
from footplate.domain.data import StoreSpec, place
from footplate.errors import Conflict
from footplate.testing.waiting import wait_until
from support.web_server import WebServer

DOWNLOAD = """
import sys
from footplate.data.stores.registry import open_store
from footplate.data.transfer.batch import download
from footplate.domain.data import StoreSpec, place
store = open_store(StoreSpec("http", {"url": sys.argv[1]}))
download([place(store.stat("x"), "x")], {"": store}, sys.argv[2])
"""


def test_a_killed_download_is_resumed(web: WebServer, tmp_path: Path) -> None:
    data = os.urandom(4 * SMALL)
    web.serve("x", data, pause=0.01, chunk=1024 * 1024)
    killed = subprocess.Popen([sys.executable, "-c", DOWNLOAD, web.address, str(tmp_path)])
    wait_until(lambda: any(map(_has_block, tmp_path.glob(".footplate-aside-*.map"))), interval=0.005)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert not (tmp_path / "x").exists(), "an incomplete file has the final name"
    assert list(local_files(tmp_path)) == []
    web.manners["x"].pause = 0
    web.seen.clear()
    store = open_store(StoreSpec("http", {"url": web.address}))
    download([place(store.stat("x"), "x")], {"": store}, tmp_path)
    assert (tmp_path / "x").read_bytes() == data
    assert len([one for one in web.asked("x") if one.headers["Range"] != "bytes=0-0"]) < 4, "it started over"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def _has_block(path: Path) -> bool:
    try:
        return b"\1" in path.read_bytes()[64:]
    except FileNotFoundError:
        return False


def test_an_old_file_stays_until_the_new_one_is_complete(web: WebServer, tmp_path: Path) -> None:
    store = open_store(StoreSpec("http", {"url": web.address}))
    for size in (10, SMALL + 10):
        (tmp_path / "x").write_bytes(b"old")
        web.serve("x", os.urandom(size))
        entry = store.stat("x")
        with pytest.raises(Conflict):
            download([place(entry._replace(etag="another"), "x")], {"": store}, tmp_path, overwrite="replace")
        assert (tmp_path / "x").read_bytes() == b"old"
        download([place(entry, "x")], {"": store}, tmp_path, overwrite="replace")
        assert (tmp_path / "x").read_bytes() == web.files["x"]
