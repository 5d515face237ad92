"""The conformance suite of stores (`data/stores/base.py`): a new kind subclasses `StoreSuite` and provides `arena`.

A read-only store (a web site) is filled by the arena, and the tests of writing check that it refuses.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import pytest

from footplate.data.stores.base import SMALL, FileStore
from footplate.data.stores.registry import find
from footplate.data.transfer.batch import download, local_files, upload
from footplate.domain.data import StoreEntry, place
from footplate.errors import Conflict, InvalidInput, NotAllowed, NotFound

NAMES = ["plain.txt", "with space.txt", "ünï/çödé.txt", "percent%41.txt", "hash#1?.txt", "a+b&c=d.txt", "deep/er/x.bin"]
HOSTILE = ["../up", "/etc/passwd", "a/../../b", "a//b", "./a", "a\0b", "C:/x", "..\\up", ""]


class StoreArena(Protocol):
    """A store under test.

    `store` is empty at first; `fill` puts a file there by any means; `lists` is false for web sites.
    """

    store: FileStore
    lists: bool
    conditions: bool
    """Whether the server honours if-match and if-none-match."""

    def fill(self, name: str, data: bytes) -> None: ...


def entries(store: FileStore, prefix: str = "") -> dict[str, StoreEntry]:
    return {entry.path: entry for page in store.list(prefix) for entry in page}


class StoreSuite:
    # ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @pytest.mark.parametrize("name", NAMES)
    def test_a_file_is_read_as_it_was_written(self, arena: StoreArena, name: str) -> None:
        arena.fill(name, b"0123456789")
        entry = arena.store.stat(name)
        assert (entry.path, entry.size) == (name, 10)
        assert arena.store.read(name) == b"0123456789"
        assert arena.store.read(name, etag=entry.etag) == b"0123456789"

    def test_a_range_returns_only_that_part(self, arena: StoreArena) -> None:
        arena.fill("x", b"0123456789")
        store = arena.store
        assert store.read("x", 2, 3) == b"234"
        assert store.read("x", 7) == b"789"
        assert store.read("x", 7, 100) == b"789"
        assert store.read("x", 4, 0) == b""
        assert b"".join(store.stream("x")) == b"0123456789"
        assert b"".join(store.stream("x", 6)) == b"6789"

    def test_an_empty_file_is_a_file(self, arena: StoreArena) -> None:
        arena.fill("empty", b"")
        assert arena.store.stat("empty").size == 0
        assert arena.store.read("empty") == b""
        assert b"".join(arena.store.stream("empty")) == b""

    def test_a_missing_file_is_not_found(self, arena: StoreArena) -> None:
        for look in _ways_to_look(arena.store):
            with pytest.raises(NotFound, match="nothing-here"):
                look("nothing-here")

    def test_a_changed_file_is_a_conflict(self, arena: StoreArena) -> None:
        arena.fill("x", b"before")
        etag = arena.store.stat("x").etag
        assert etag
        arena.fill("x", b"after, and longer")
        with pytest.raises(Conflict, match="changed"):
            arena.store.read("x", etag=etag)

    @pytest.mark.parametrize("name", HOSTILE)
    def test_a_name_outside_the_store_is_refused(self, arena: StoreArena, name: str) -> None:
        for look in _ways_to_look(arena.store):
            with pytest.raises(InvalidInput):
                look(name)

    def test_many_threads_at_once(self, arena: StoreArena) -> None:
        for number in range(20):
            arena.fill(f"n{number}", str(number).encode() * 100)
        with ThreadPoolExecutor(8) as pool:
            read = list(pool.map(arena.store.read, [f"n{number}" for number in range(20)]))
        assert read == [str(number).encode() * 100 for number in range(20)]

    # ── listing ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def test_a_listing_has_exactly_the_files_below_a_folder(self, arena: StoreArena) -> None:
        if not arena.lists:
            pytest.skip("this kind of store cannot list files")
        for name in ("data/a", "data/deep/b", "data2/c", "d"):
            arena.fill(name, name.encode())
        below = entries(arena.store, "data")
        assert {name: entry.size for name, entry in below.items()} == {"data/a": 6, "data/deep/b": 11}
        assert set(entries(arena.store)) == {"data/a", "data/deep/b", "data2/c", "d"}
        assert entries(arena.store, "nowhere") == {}
        assert below["data/a"].etag == arena.store.stat("data/a").etag

    def test_children_are_the_direct_contents_of_a_folder(self, arena: StoreArena) -> None:
        if not arena.lists:
            pytest.skip("this kind of store cannot list files")
        for name in ("top", "data/a", "data/deep/b", "data/deep/er/c"):
            arena.fill(name, b"x")
        top = arena.store.children()
        assert (top.folders, [entry.path for entry in top.files]) == (["data"], ["top"])
        inside = arena.store.children("data")
        assert (inside.folders, [entry.path for entry in inside.files]) == (["deep"], ["data/a"])
        assert arena.store.children("data/nowhere") == ([], [])

    def test_listings_of_more_than_one_page(self, arena: StoreArena) -> None:
        if not arena.lists:
            pytest.skip("this kind of store cannot list files")
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(arena.fill, [f"many/{number:04}" for number in range(1100)], itertools.repeat(b"x")))
        assert len(entries(arena.store, "many")) == 1100

    def test_names_are_listed_as_they_were_written(self, arena: StoreArena) -> None:
        if not arena.lists:
            pytest.skip("this kind of store cannot list files")
        for name in NAMES:
            arena.fill(name, b"x")
        assert sorted(entries(arena.store)) == sorted(NAMES)
        assert [entry.path for entry in find(arena.store, "**/*.bin")] == ["deep/er/x.bin"]

    # ── writing ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def test_a_read_only_store_refuses_writes(self, arena: StoreArena) -> None:
        if arena.store.writable:
            arena.store.put("x", b"1")
            arena.store.delete("x")
            arena.store.delete("x")
            with pytest.raises(NotFound):
                arena.store.stat("x")
        else:
            with pytest.raises(NotAllowed, match="read"):
                arena.store.put("x", b"1")
            with pytest.raises(NotAllowed, match="read"):
                arena.store.delete("x")

    def test_put_returns_the_new_entry(self, arena: StoreArena, tmp_path: Path) -> None:
        _need_writing(arena)
        (tmp_path / "file").write_bytes(b"from a file")
        for source, size in ((b"bytes", 5), (tmp_path / "file", 11)):
            stored = arena.store.put("deep/x", source)
            there = arena.store.stat("deep/x")
            assert (stored.path, stored.size, stored.etag) == (there.path, size, there.etag)

    def test_if_absent_keeps_an_existing_file(self, arena: StoreArena) -> None:
        _need_writing(arena)
        if not arena.conditions:
            pytest.skip("this server ignores conditions")
        arena.store.put("x", b"first", if_absent=True)
        with pytest.raises(Conflict, match="exists"):
            arena.store.put("x", b"second", if_absent=True)
        assert arena.store.read("x") == b"first"

    @pytest.mark.parametrize("name", HOSTILE)
    def test_nothing_is_written_outside_the_store(self, arena: StoreArena, name: str) -> None:
        _need_writing(arena)
        with pytest.raises(InvalidInput):
            arena.store.put(name, b"x")

    # ── transfers ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def test_a_tree_survives_upload_and_download(self, arena: StoreArena, tmp_path: Path) -> None:
        _need_writing(arena)
        here = tmp_path / "here"
        for number in range(70):
            (here / f"d{number % 3}").mkdir(parents=True, exist_ok=True)
            (here / f"d{number % 3}" / f"f{number}").write_bytes(os.urandom(number * 10))
        done = upload(((path, f"up/{name}") for path, name in local_files(here)), arena.store)
        assert len(done.stored) == 70
        again = upload(((path, f"up/{name}") for path, name in local_files(here)), arena.store)
        assert (len(again.stored), len(again.skipped)) == (0, 70)
        items = [place(entry, entry.path[len("up/") :]) for entry in find(arena.store, "up")]
        download(items, {"": arena.store}, tmp_path / "back")
        assert _tree(tmp_path / "back") == _tree(here)

    def test_a_large_file_is_sent_in_parts(self, arena: StoreArena, tmp_path: Path) -> None:
        data = os.urandom(2 * SMALL + 12345)
        (tmp_path / "big").write_bytes(data)
        if arena.store.writable:
            stored = arena.store.put("big", tmp_path / "big")
        else:
            arena.fill("big", data)
            stored = arena.store.stat("big")
        assert stored.size == len(data)
        assert arena.store.read("big", SMALL - 3, 7) == data[SMALL - 3 : SMALL + 4]
        download([place(stored, "big")], {"": arena.store}, tmp_path / "back")
        assert _tree(tmp_path / "back") == {"big": data}

    def test_no_representation_shows_a_credential(self, arena: StoreArena) -> None:
        store = arena.store
        for secret in store.spec.credentials.values():
            assert secret not in f"{store!r} {store} {store.spec!r} {store.spec}"
            with pytest.raises(NotFound) as caught:
                store.stat("nothing-here")
            error: BaseException | None = caught.value
            while error is not None:
                assert secret not in f"{error} {error!r}"
                error = error.__context__


def _ways_to_look(store: FileStore) -> list[Callable[[str], Any]]:
    def stream(path: str) -> bytes:
        return b"".join(store.stream(path))

    return [store.stat, store.read, stream]


def _need_writing(arena: StoreArena) -> None:
    if not arena.store.writable:
        pytest.skip("this kind of store is read-only")


def _tree(root: Path) -> dict[str, bytes]:
    return {name: path.read_bytes() for path, name in local_files(root)}
