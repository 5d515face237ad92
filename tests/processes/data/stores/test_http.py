from __future__ import annotations

import hashlib
import os
import socket
from base64 import b64encode
from pathlib import Path

import pytest

from footplate.data.stores.base import SMALL
from footplate.data.stores.http import HttpStore
from footplate.data.stores.registry import find, open_store
from footplate.data.transfer.batch import download
from footplate.domain.data import StoreSpec, place
from footplate.errors import Broken, Conflict, InvalidInput, NotAllowed, NotFound, Unavailable
from support.web_server import WebServer


def store_of(web: WebServer, **credentials: str):
    return open_store(StoreSpec("http", {"url": web.address}, credentials))


def fetched(web: WebServer, name: str, folder: Path) -> bytes:
    store = store_of(web)
    (path,) = download([place(store.stat(name), name)], {"": store}, folder)
    assert [left.name for left in folder.iterdir()] == [name], "a temporary file was left"
    return path.read_bytes()


@pytest.mark.parametrize("size", [100_000, SMALL + 100_000])
def test_a_file_over_cut_connections_arrives_complete(web: WebServer, tmp_path: Path, size: int) -> None:
    data = os.urandom(size)
    web.serve("x", data, cut_after=size // 11)
    assert fetched(web, "x", tmp_path) == data
    assert len(web.asked("x")) >= 11
    assert all("If-Range" in one.headers for one in web.asked("x")[1:])


def test_a_slow_server_is_tolerated(web: WebServer, tmp_path: Path) -> None:
    web.serve("x", b"slowly", chunk=1, pause=0.02)
    assert fetched(web, "x", tmp_path) == b"slowly"


def test_a_silent_server_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        store = HttpStore(StoreSpec("http", {"url": f"http://127.0.0.1:{silent.getsockname()[1]}"}), patience=0.05)
        with pytest.raises(Unavailable, match="does not respond"):
            store.stat("x")


def test_without_ranges_and_length_a_file_is_streamed(web: WebServer, tmp_path: Path) -> None:
    data = os.urandom(300_000)
    web.serve("x", data, ranges=False, length=False)
    assert fetched(web, "x", tmp_path) == data


def test_a_large_file_from_a_server_without_ranges(web: WebServer, tmp_path: Path) -> None:
    data = os.urandom(SMALL + 1)
    web.serve("x", data, ranges=False)
    assert fetched(web, "x", tmp_path) == data


def test_a_server_with_less_than_announced_leaves_nothing(web: WebServer, tmp_path: Path) -> None:
    web.serve("x", b"0123456789", claims=10)
    store = store_of(web)
    with pytest.raises(Broken, match="10 bytes, but 20 were listed"):
        download([place(store.stat("x"), "x")], {"": store}, tmp_path / "to")
    assert list((tmp_path / "to").iterdir()) == []


def test_a_server_with_less_than_listed_leaves_nothing(web: WebServer, tmp_path: Path) -> None:
    web.serve("x", b"0123456789")
    store = store_of(web)
    listed = store.stat("x")
    web.manners["x"].claims = -4
    with pytest.raises(Broken, match="6 bytes, but 10 were listed"):
        download([place(listed, "x")], {"": store}, tmp_path / "to")
    assert list((tmp_path / "to").iterdir()) == []


def test_a_wrong_checksum_is_an_error_and_leaves_nothing(web: WebServer, tmp_path: Path) -> None:
    wrong = b64encode(hashlib.sha256(b"other").digest()).decode()
    web.serve("x", b"these", headers={"Repr-Digest": f"sha-256=:{wrong}:"})
    store = store_of(web)
    with pytest.raises(Broken, match="digest sha256"):
        download([place(store.stat("x"), "x")], {"": store}, tmp_path / "to")
    assert list((tmp_path / "to").iterdir()) == []


def test_a_large_file_with_a_wrong_checksum_leaves_nothing(web: WebServer, tmp_path: Path) -> None:
    web.serve("x", os.urandom(SMALL + 1), headers={"Content-MD5": b64encode(hashlib.md5(b"other").digest()).decode()})
    store = store_of(web)
    with pytest.raises(Broken, match="digest md5"):
        download([place(store.stat("x"), "x")], {"": store}, tmp_path / "to")
    assert list((tmp_path / "to").iterdir()) == []


def test_a_file_that_changes_between_connections_is_a_conflict(web: WebServer) -> None:
    web.serve("x", os.urandom(100_000), cut_after=30_000)
    pieces = store_of(web).stream("x")
    next(pieces)
    web.files["x"] = os.urandom(100_000)
    with pytest.raises(Conflict, match="changed"):
        list(pieces)


def test_a_cut_file_without_etag_or_date_is_not_resumed(web: WebServer) -> None:
    web.serve("x", b"0123456789", etag=False, cut_after=4)
    with pytest.raises(Unavailable, match="cannot be resumed safely"):
        store_of(web).read("x")


def test_redirects_are_followed_but_not_in_circles(web: WebServer) -> None:
    web.serve("end", b"here")
    web.serve("start", b"", redirect=f"{web.address}/end")
    assert store_of(web).read("start") == b"here"
    web.serve("a", b"", redirect=f"{web.address}/b")
    web.serve("b", b"", redirect=f"{web.address}/a")
    with pytest.raises(InvalidInput, match="in a circle"):
        store_of(web).read("a")
    for number in range(20):
        web.serve(f"n{number}", b"", redirect=f"{web.address}/n{number + 1}")
    with pytest.raises(InvalidInput, match="more than 10 times"):
        store_of(web).read("n0")


@pytest.mark.parametrize("there", ["file:///etc/passwd", "gopher://x/", "http://user:secret@h/"])
def test_a_redirect_to_another_scheme_is_refused(web: WebServer, there: str) -> None:
    web.serve("x", b"", redirect=there)
    with pytest.raises(InvalidInput) as caught:
        store_of(web).read("x")
    assert "secret" not in str(caught.value)


def test_credentials_do_not_follow_redirects_to_other_hosts(web: WebServer) -> None:
    web.serve("x", b"", redirect=f"{web.address.replace('127.0.0.1', 'localhost')}/y")
    web.serve("y", b"data")
    store = store_of(web, token="hidden")
    assert store.read("x") == b"data"
    assert web.asked("x")[0].headers["Authorization"] == "Bearer hidden"
    assert "Authorization" not in web.asked("y")[0].headers
    assert "hidden" not in f"{store!r}{store.spec!r}"


def test_credentials_grant_access(web: WebServer) -> None:
    web.serve("x", b"data", authorization="Basic dTpw")
    assert store_of(web, username="u", password="p").read("x") == b"data"
    with pytest.raises(NotAllowed, match="status 401"):
        store_of(web).read("x")


def test_busy_and_broken_servers_are_retried(web: WebServer) -> None:
    web.serve("x", b"data", statuses=[503, 500, 429])
    assert store_of(web).read("x") == b"data"


def test_a_server_without_head(web: WebServer) -> None:
    web.serve("x", b"0123456789", head=False)
    assert store_of(web).stat("x").size == 10


def test_whole_urls_without_a_base_url(web: WebServer) -> None:
    address = web.serve("a b/c", b"data")
    store = open_store(StoreSpec("http"))
    assert store.read(f"{address}?signature=hidden") == b"data"
    with pytest.raises(NotFound) as caught:
        store.read(f"{web.address}/nothing?signature=hidden")
    assert "hidden" not in str(caught.value)
    for bad in ("ftp://x/y", "/etc/passwd", "http://u:p@host/", "http://h:x/", "http://h/a b", ""):
        with pytest.raises(InvalidInput):
            store.read(bad)


def test_a_file_is_found_by_its_url(web: WebServer) -> None:
    address = web.serve("what?/a*b.csv", b"data")
    assert [entry.size for entry in find(open_store(StoreSpec("http")), address)] == [4]
    assert [entry.path for entry in find(store_of(web), "what?/a*b.csv")] == ["what?/a*b.csv"]
    with pytest.raises(NotFound, match="nothing"):
        list(find(store_of(web), "nothing"))
