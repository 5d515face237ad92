from __future__ import annotations

from pathlib import Path

import pytest

from footplate.data.stores.registry import find, open_store
from footplate.data.transfer.batch import download, local_files, upload
from footplate.domain.data import Item, StoreSpec, place
from footplate.errors import Broken, Conflict, NotFound


def folder_store(path: Path):
    return open_store(StoreSpec("folder", {"path": str(path)}))


def make_tree(root: Path) -> dict[str, bytes]:
    files = {"a.txt": b"alpha", "deep/er/b.bin": b"\0" * 100, "deep/c.csv": b"1,2\n", "empty": b""}
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return files


def read_tree(root: Path) -> dict[str, bytes]:
    return {name: path.read_bytes() for path, name in local_files(root)}


def test_upload_and_download_round_trip(tmp_path: Path) -> None:
    files = make_tree(tmp_path / "here")
    store = folder_store(tmp_path / "store")
    done = upload(((path, f"data/{name}") for path, name in local_files(tmp_path / "here")), store)
    assert {entry.path for entry in done.stored} == {f"data/{name}" for name in files}
    items = [place(entry, entry.path[len("data/") :]) for entry in find(store, "data")]
    paths = download(items, {"": store}, tmp_path / "back")
    assert read_tree(tmp_path / "back") == files
    assert sorted(paths) == sorted(tmp_path / "back" / name for name in files)
    assert sorted(p.name for p in (tmp_path / "back").iterdir()) == ["a.txt", "deep", "empty"]


def test_existing_files_are_skipped_replaced_or_refused(tmp_path: Path) -> None:
    (tmp_path / "new").write_bytes(b"new")
    store = folder_store(tmp_path / "store")
    store.put("x", b"old")
    job = [(tmp_path / "new", "x")]
    assert upload(job, store).skipped == ["x"]
    assert store.read("x") == b"old"
    with pytest.raises(Conflict, match="'x' already exists"):
        upload(job, store, overwrite="refuse")
    assert upload(job, store, overwrite="replace").stored[0].size == 3
    assert store.read("x") == b"new"


def test_a_length_other_than_listed_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    store = folder_store(tmp_path / "store")
    store.put("x", b"four")
    with pytest.raises(Broken, match="4 bytes, but 5"):
        download([Item("x", 5)], {"": store}, tmp_path / "back")
    assert list((tmp_path / "back").iterdir()) == []


def test_a_pattern_without_matches_is_an_error(tmp_path: Path) -> None:
    make_tree(tmp_path)
    store = folder_store(tmp_path)
    assert [entry.path for entry in find(store, "**/*.csv")] == ["deep/c.csv"]
    assert [entry.path for entry in find(store, "deep/c.csv")] == ["deep/c.csv"]
    with pytest.raises(NotFound, match="no files found at"):
        list(find(store, "*.png"))
