from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from footplate.content.listing import Listing, write_listing
from footplate.data.cache import DataCache
from footplate.data.mounts.cached_files import BlockFile, CachedFile, open_remote
from footplate.data.mounts.views import View, make_view
from footplate.data.stores.base import SMALL, FileStore
from footplate.data.stores.registry import open_store
from footplate.domain.data import StoreSpec, place
from footplate.errors import Broken, FootplateError
from footplate.testing.waiting import wait_until
from support.web_server import WebServer


@pytest.fixture
def store(web: WebServer) -> FileStore:
    return open_store(StoreSpec("http", {"url": web.address}))


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as threads:
        yield threads


def content(cache: DataCache, store: FileStore, name: str, pool: ThreadPoolExecutor) -> bytes:
    file = cache.open(store, store.stat(name), pool)
    try:
        return os.pread(file, os.fstat(file).st_size, 0)
    finally:
        os.close(file)


def is_here(cache: DataCache, store: FileStore, name: str) -> bool:
    file = cache.find(cache.key(store, store.stat(name)))
    if file is not None:
        os.close(file)
    return file is not None


def files_below(folder: str) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file())


@pytest.mark.parametrize("size", [0, 10, SMALL + 5])
def test_a_file_is_fetched_once(
    web: WebServer, store: FileStore, tmp_path: Path, pool: ThreadPoolExecutor, size: int
) -> None:
    data = os.urandom(size)
    web.serve("x", data)
    cache = DataCache(tmp_path)
    assert content(cache, store, "x", pool) == data
    web.seen.clear()
    assert content(cache, store, "x", pool) == data
    assert not web.asked("x")
    assert not files_below(f"{cache.folder}/coming")


def test_the_same_content_is_kept_once(
    web: WebServer, store: FileStore, tmp_path: Path, pool: ThreadPoolExecutor
) -> None:
    cache = DataCache(tmp_path)
    for name in ("x", "y"):
        web.serve(name, b"the same")
        assert content(cache, store, name, pool) == b"the same"
    assert cache.usage()[:2] == (1, 8)


def test_a_changed_file_gets_a_new_key(
    web: WebServer, store: FileStore, tmp_path: Path, pool: ThreadPoolExecutor
) -> None:
    cache = DataCache(tmp_path)
    for data in (b"before", b"after!"):
        web.serve("x", data)
        assert content(cache, store, "x", pool) == data


@pytest.mark.parametrize("size", [1000, SMALL + 5])
def test_parallel_threads_fetch_a_file_once(
    web: WebServer, store: FileStore, tmp_path: Path, pool: ThreadPoolExecutor, size: int
) -> None:
    data = os.urandom(size)
    web.serve("x", data, pause=0.02)
    entry = store.stat("x")

    def read(_: int) -> bytes:
        with ThreadPoolExecutor(4) as blocks:
            file = DataCache(tmp_path).open(store, entry, blocks)
        with os.fdopen(file, "rb") as opened:
            return opened.read()

    with ThreadPoolExecutor(6) as readers:
        assert list(readers.map(read, range(6))) == [data] * 6
    asked = [one.headers.get("Range") for one in web.asked("x")]
    assert len(asked) == len(set(asked)), "something was fetched twice"


FETCH = """
import os, sys
from concurrent.futures import ThreadPoolExecutor
from footplate.data.cache import DataCache
from footplate.data.stores.registry import open_store
from footplate.domain.data import StoreSpec
store = open_store(StoreSpec("http", {"url": sys.argv[1]}))
with ThreadPoolExecutor(2) as pool:
    file = DataCache(sys.argv[2]).open(store, store.stat("x"), pool)
print(os.fstat(file).st_size)
"""


def start_fetch(web: WebServer, folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", FETCH, web.address, str(folder)], stdout=subprocess.PIPE)


def test_parallel_processes_fetch_a_file_once(web: WebServer, tmp_path: Path) -> None:
    web.serve("x", os.urandom(1000), pause=0.3)
    fetches = [start_fetch(web, tmp_path) for _ in range(3)]
    assert [fetch.communicate()[0] for fetch in fetches] == [b"1000\n"] * 3
    assert len(web.asked("x")) == 1


def test_a_killed_fetch_is_resumed(web: WebServer, store: FileStore, tmp_path: Path, pool: ThreadPoolExecutor) -> None:
    data = os.urandom(3 * SMALL)
    web.serve("x", data, pause=0.02, chunk=256 * 1024)
    fetch = start_fetch(web, tmp_path)
    cache, entry = DataCache(tmp_path), store.stat("x")
    blocks = cache.partial(cache.key(store, entry), entry)
    wait_until(lambda: len(blocks.missing()) < blocks.count, interval=0.005)
    fetch.kill()
    fetch.communicate()
    blocks.close()
    web.manners["x"].pause = 0
    web.seen.clear()
    assert content(cache, store, "x", pool) == data
    assert len([one for one in web.asked("x") if one.headers["Range"] != "bytes=0-0"]) < blocks.count, "it started over"


@pytest.mark.parametrize("size", [1000, SMALL + 5])
@pytest.mark.parametrize("lie", ["length", "digest"])
def test_a_file_that_differs_from_its_listing_leaves_nothing(
    web: WebServer, store: FileStore, tmp_path: Path, pool: ThreadPoolExecutor, size: int, lie: str
) -> None:
    web.serve("x", os.urandom(size))
    entry = store.stat("x")
    entry = entry._replace(size=size + 1) if lie == "length" else entry._replace(digest="sha256:" + "0" * 64)
    cache = DataCache(tmp_path)
    with pytest.raises(FootplateError):
        os.close(cache.open(store, entry, pool))
    assert not files_below(f"{cache.folder}/objects")
    assert not files_below(f"{cache.folder}/keys")


def test_eviction_is_lru_and_spares_files_in_use(
    web: WebServer, store: FileStore, tmp_path: Path, pool: ThreadPoolExecutor
) -> None:
    cache = DataCache(tmp_path, limit=10_000)
    now = time.time()
    first = -1
    for number in range(6):
        web.serve(f"f{number}", os.urandom(2000))
        held = cache.open(store, store.stat(f"f{number}"), pool)
        os.utime(held, (now - 1000 + number, now - 1000 + number))
        if number != 0:
            os.close(held)
        else:
            first = held
    assert cache.usage() == (4, 8000, 2000, 10_000), "eviction goes down to nine tenths of the limit"
    here = [is_here(cache, store, f"f{number}") for number in range(6)]
    assert here[0], "a file in use was evicted"
    assert here[3:] == [True, True, True], "a recently used file was evicted"
    assert here[1:3] == [False, False], "the least recently used file stayed"
    os.close(first)
    assert cache.evict(0) > 0
    assert cache.usage()[:3] == (0, 0, 0)


@pytest.mark.parametrize("size", [2000, 2 * SMALL + 5])
def test_a_file_larger_than_the_limit_stays_while_it_is_read(
    web: WebServer, store: FileStore, tmp_path: Path, pool: ThreadPoolExecutor, size: int
) -> None:
    cache, data = DataCache(tmp_path, limit=1000), os.urandom(size)
    web.serve("x", data)
    file = cache.open(store, store.stat("x"), pool)
    assert os.pread(file, size, 0) == data
    again = cache.open(store, store.stat("x"), pool)
    assert os.path.samestat(os.fstat(file), os.fstat(again)), "it was evicted while it was held"
    os.close(file)
    os.close(again)
    web.serve("y", os.urandom(900))
    assert len(content(cache, store, "y", pool)) == 900
    assert not is_here(cache, store, "x"), "it stayed after its last reader"


def test_views_are_evicted_by_last_use_unless_in_use(
    web: WebServer, store: FileStore, tmp_path: Path, pool: ThreadPoolExecutor
) -> None:
    cache = DataCache(tmp_path, limit=10_000)
    made = dict[str, View]()
    for number in range(3):
        web.serve(f"f{number}", os.urandom(3000))
        digest = write_listing([place(store.stat(f"f{number}"), "file")], str(tmp_path / "listing")).digest
        with Listing(str(tmp_path / "listing")) as listing:
            made[digest] = make_view(cache, digest, listing, {"": store})
        os.utime(f"{cache.folder}/views/{digest}.lock", (1000 + number, 1000 + number))
    in_use, oldest, newest = made
    made[oldest].close()
    made[newest].close()
    assert cache.evict(7000) == 3000
    assert [os.path.isdir(f"{cache.folder}/views/{digest}") for digest in made] == [True, False, True]
    assert is_here(cache, store, "f0") and not is_here(cache, store, "f1") and is_here(cache, store, "f2")
    assert cache.evict(0) == 3000
    assert (Path(made[in_use].path) / "file").read_bytes() == web.files["f0"]
    made[in_use].close()
    assert cache.evict(0) == 3000


def test_readers_keep_their_files_during_constant_eviction(web: WebServer, store: FileStore, tmp_path: Path) -> None:
    files = {f"f{number}": os.urandom(2000) for number in range(12)}
    for name, data in files.items():
        web.serve(name, data)
    entries = {name: store.stat(name) for name in files}
    done = threading.Event()

    def clear() -> None:
        while not done.is_set():
            DataCache(tmp_path, limit=4000).evict(0)

    def read(number: int) -> None:
        cache, name = DataCache(tmp_path, limit=4000), f"f{number % 12}"
        with ThreadPoolExecutor(1) as pool:
            for _ in range(10):
                with os.fdopen(cache.open(store, entries[name], pool), "rb") as file:
                    assert os.fstat(file.fileno()).st_nlink == 1, "it was evicted while it was held"
                    assert file.read() == files[name]

    with ThreadPoolExecutor(7) as threads:
        clearing = threads.submit(clear)
        try:
            list(threads.map(read, range(24)))
        finally:
            done.set()
        clearing.result()


def test_a_truncated_object_is_fetched_again(
    web: WebServer, store: FileStore, tmp_path: Path, pool: ThreadPoolExecutor
) -> None:
    cache = DataCache(tmp_path)
    web.serve("x", b"content")
    assert content(cache, store, "x", pool) == b"content"
    (damaged,) = Path(cache.folder, "objects").glob("*/*")
    damaged.chmod(0o644)
    damaged.write_bytes(b"")  # as after a power failure
    assert content(cache, store, "x", pool) == b"content"


def read(file: CachedFile | BlockFile, start: int, length: int) -> bytes:
    file.fetch_range(start, length)
    return os.pread(file.file, length, start)


def test_a_large_file_is_read_by_blocks(
    web: WebServer, store: FileStore, tmp_path: Path, pool: ThreadPoolExecutor
) -> None:
    data = os.urandom(4 * SMALL + 3)
    web.serve("x", data)
    cache, entry = DataCache(tmp_path), store.stat("x")
    file = open_remote(store, entry, cache, pool)
    assert read(file, 3 * SMALL - 5, 10) == data[3 * SMALL - 5 : 3 * SMALL + 5]
    assert read(file, len(data) - 2, 100) == data[-2:]
    assert read(file, len(data), 10) == b""
    assert len(web.asked("x")) < 9, "more was fetched than requested"
    assert b"".join(read(file, at, 65536) for at in range(0, len(data), 65536)) == data
    file.close()
    assert is_here(cache, store, "x")
    assert content(cache, store, "x", pool) == data


def test_a_failed_block_is_requested_again(
    web: WebServer, store: FileStore, tmp_path: Path, pool: ThreadPoolExecutor
) -> None:
    data = os.urandom(SMALL + 3)
    web.serve("x", data)
    entry = store.stat("x")
    file = open_remote(store, entry, DataCache(tmp_path), pool)
    kept = web.files.pop("x")
    with pytest.raises(FootplateError):
        read(file, 0, 10)
    web.files["x"] = kept
    assert read(file, 0, 10) == data[:10]
    file.close()


def test_complete_files_with_wrong_content_are_never_kept(
    web: WebServer, store: FileStore, tmp_path: Path, pool: ThreadPoolExecutor
) -> None:
    web.serve("x", os.urandom(SMALL + 3))
    entry = store.stat("x")._replace(digest="md5:" + "0" * 32)
    file = open_remote(store, entry, DataCache(tmp_path), pool)
    with pytest.raises(Broken):
        for at in range(0, entry.size, SMALL // 4):
            read(file, at, SMALL // 4)
        read(file, entry.size - 1, 1)
    file.close()
    assert not files_below(f"{tmp_path}/objects")
