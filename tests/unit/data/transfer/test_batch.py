from __future__ import annotations

import os
from pathlib import Path

import pytest

from footplate.data.stores.base import SMALL, Progress
from footplate.data.stores.registry import open_store
from footplate.data.transfer.batch import download, find_unchanged, local_files, upload
from footplate.data.transfer.partial import BLOCK, Partial
from footplate.domain.data import Item, StoreSpec, place
from footplate.errors import Conflict, InvalidInput, NotFound, Unavailable


def test_unchanged_files_get_a_second_name(tmp_path: Path) -> None:
    store = open_store(StoreSpec("folder", {"path": str(tmp_path / "store")}))
    local = tmp_path / "local"
    local.mkdir()
    for name, data in {"same": b"1" * (SMALL + 1), "other": b"22", "longer": b"333", "new": b"4"}.items():
        (local / name).write_bytes(data)
    for name, data in {"same": b"1" * (SMALL + 1), "other": b"21", "longer": b"33", "gone": b"5"}.items():
        store.put(f"v1/{name}", data)
    files = list(local_files(local))
    same = find_unchanged(files, store, "v1")
    assert same == {"same": "v1/same"}
    upload([(path, f"v2/{name}") for path, name in files], store, stored={"v2/same": "v1/same"})
    first, second = (tmp_path / "store" / version / "same" for version in ("v1", "v2"))
    assert first.stat().st_ino == second.stat().st_ino
    assert first.stat().st_mode & 0o777 == 0o444, "a write would change both"
    assert {name: (tmp_path / "store" / "v2" / name).read_bytes() for _, name in files} == {
        name: path.read_bytes() for path, name in files
    }
    store.delete("v1/same")
    assert second.read_bytes() == b"1" * (SMALL + 1)


def test_a_link_that_fails_is_a_copy(tmp_path: Path) -> None:
    store = open_store(StoreSpec("folder", {"path": str(tmp_path / "store")}))
    (tmp_path / "a").write_bytes(b"a")
    done = upload([(tmp_path / "a", "v2/a")], store, stored={"v2/a": "v1/removed-meanwhile"})
    assert [entry.path for entry in done.stored] == ["v2/a"]
    assert store.read("v2/a") == b"a"


def test_progress_ends_at_the_total(tmp_path: Path) -> None:
    store = open_store(StoreSpec("folder", {"path": str(tmp_path / "store")}))
    for number in range(30):
        store.put(f"f{number}", b"x" * number)
    store.put("large", b"x" * (SMALL + 1))
    items = [place(entry, entry.path) for page in store.list() for entry in page]
    seen = list[Progress]()
    download(items, {"": store}, tmp_path / "back", report=seen.append)
    total = sum(range(30)) + SMALL + 1
    assert seen[-1] == Progress(31, 31, total, total)
    assert sorted(seen) == seen
    seen.clear()
    upload(((path, f"again/{name}") for path, name in local_files(tmp_path / "back")), store, report=seen.append)
    assert seen[-1] == Progress(31, 31, total, total)


def test_conflicts_are_refused_before_any_transfer(tmp_path: Path) -> None:
    store = open_store(StoreSpec("folder", {"path": str(tmp_path / "store")}))
    for name in ("a", "b"):
        store.put(name, b"x")
    items = [place(store.stat(name), name) for name in ("a", "b")]
    (tmp_path / "to").mkdir()
    (tmp_path / "to" / "b").touch()
    with pytest.raises(Conflict, match="to/b already exists"):
        download(items, {"": store}, tmp_path / "to", overwrite="refuse")
    assert [path.name for path in (tmp_path / "to").iterdir()] == ["b"]


def test_invalid_arguments_are_named(tmp_path: Path) -> None:
    store = open_store(StoreSpec("folder", {"path": str(tmp_path)}))
    with pytest.raises(NotFound, match=r"the folder .* does not exist"):
        list(local_files(tmp_path / "nowhere"))
    with pytest.raises(NotFound, match=r"the file .* does not exist"):
        upload([(tmp_path / "nothing", "x")], store)
    with pytest.raises(InvalidInput, match="'other', whose spec is missing"):
        download([Item("x", 1, store="other")], {"": store}, tmp_path / "to")
    with pytest.raises(InvalidInput, match="leaves"):
        download([Item("../x", 1)], {"": store}, tmp_path / "to")
    with pytest.raises(InvalidInput, match="leaves"):
        upload([(tmp_path, "../x")], store)


def test_cycles_of_symlinks_end(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").touch()
    (tmp_path / "d" / "loop").symlink_to(tmp_path / "d")
    (tmp_path / "d" / "self").symlink_to("self")
    (tmp_path / "dangling").symlink_to("nowhere")
    assert sorted(name for _, name in local_files(tmp_path / "d")) == ["f"]
    assert sorted(name for _, name in local_files(tmp_path)) == ["d/f"]


class TestPartial:
    def test_blocks_arrive_in_any_order_and_survive_their_writer(self, tmp_path: Path) -> None:
        data = os.urandom(2 * BLOCK + 5)
        path = str(tmp_path / "x")
        with Partial(path, len(data)) as partial:
            assert partial.missing() == [0, 1, 2]
            partial.write(2, data[2 * BLOCK :])
        with Partial(path, len(data)) as partial:
            assert partial.missing() == [0, 1]
            for index in (1, 0):
                partial.write(index, data[index * BLOCK : (index + 1) * BLOCK])
            assert partial.missing() == []
            assert not (tmp_path / "x").exists()
            partial.finish(0o600)
        assert (tmp_path / "x").read_bytes() == data
        assert [left.name for left in tmp_path.iterdir()] == ["x"]

    def test_a_map_of_another_boot_counts_for_nothing(self, tmp_path: Path) -> None:
        path = str(tmp_path / "x")
        with Partial(path, 10) as partial:
            partial.write(0, b"0123456789")
        with open(f"{path}.map", "r+b") as file:
            file.write(b"another boot_id")
        with Partial(path, 10) as partial:
            assert partial.missing() == [0]

    def test_a_block_with_a_wrong_length_is_refused(self, tmp_path: Path) -> None:
        with Partial(str(tmp_path / "x"), 10) as partial:
            with pytest.raises(Unavailable, match="9 bytes arrived, but 10"):
                partial.write(0, b"012345678")
            assert partial.missing() == [0]

    def test_a_late_writer_does_not_finish_another_writers_file(self, tmp_path: Path) -> None:
        path = str(tmp_path / "x")
        with Partial(path, 4) as late:
            late.write(0, b"late")
            with Partial(path, 4) as other:
                other.discard()
            with Partial(path, 4) as newer:
                with pytest.raises(Unavailable, match="discarded"):
                    late.finish(0o600)
                late.discard()
                newer.write(0, b"new!")
                newer.finish(0o600)
        assert (tmp_path / "x").read_bytes() == b"new!"
