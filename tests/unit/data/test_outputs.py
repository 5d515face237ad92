from __future__ import annotations

import math
import os
import time
from pathlib import Path

import pytest

from footplate.data import Courier, Store, folder_in_place, open_store, upload_folder
from footplate.domain.data import StoreSpec
from footplate.errors import Conflict


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(StoreSpec("folder", {"path": str(tmp_path / "store")}))


def fill(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


def stored(store: Store) -> list[str]:
    return sorted(entry.path for page in store.list() for entry in page)


def test_a_local_store_is_written_to_in_place(store: Store, tmp_path: Path) -> None:
    assert folder_in_place(store, "out/1") == tmp_path / "store/out/1"
    assert (tmp_path / "store/out/1").is_dir()
    assert folder_in_place(open_store(StoreSpec("http", {"url": "http://host"})), "x") is None


@pytest.mark.parametrize(
    ("patterns", "kept"),
    [
        ([], ["a.csv", "deep/b.csv", "deep/c.txt"]),
        (["*.csv"], ["a.csv", "deep/b.csv"]),
        (["deep/*.csv"], ["deep/b.csv"]),
        (["deep"], ["deep/b.csv", "deep/c.txt"]),
        (["deep/", "a.*"], ["a.csv", "deep/b.csv", "deep/c.txt"]),
        (["**/*.txt"], ["deep/c.txt"]),
    ],
)
def test_what_matches_is_uploaded(store: Store, tmp_path: Path, patterns: list[str], kept: list[str]) -> None:
    fill(tmp_path / "out", "a.csv", "deep/b.csv", "deep/c.txt")
    upload_folder(tmp_path / "out", store, "to", patterns=patterns)
    assert stored(store) == [f"to/{name}" for name in kept]


def test_what_is_there_is_not_replaced_unless_asked(store: Store, tmp_path: Path) -> None:
    fill(tmp_path / "out", "a", "b")
    store.put("to/b", b"before")
    with pytest.raises(Conflict, match="'to/b' exists"):
        upload_folder(tmp_path / "out", store, "to")
    assert stored(store) == ["to/b"], "something was sent before it was refused"
    upload_folder(tmp_path / "out", store, "to", overwrite="replace")
    assert store.read("to/b") == b"b"


def test_files_are_sent_as_they_are_done_and_again_when_they_change(store: Store, tmp_path: Path) -> None:
    now = time.time()
    courier = Courier(tmp_path / "out", store, "to")
    fill(tmp_path / "out", "done", "open")
    os.utime(tmp_path / "out/done", (now - 100, now - 100))
    assert [entry.path for entry in courier.send(until=now - 50)] == ["to/done"]
    assert courier.send(until=now - 50) == []
    (tmp_path / "out/done").write_text("once more")
    assert courier.finish() == ["done", "open"]
    assert store.read("to/done") == b"once more"
    assert store.read("to/open") == b"open"
    assert courier.send(until=math.inf) == []


def test_a_courier_works_by_itself(store: Store, tmp_path: Path) -> None:
    courier = Courier(tmp_path / "out", store, "to").start()
    fill(tmp_path / "out", "x")
    os.utime(tmp_path / "out/x", (0, 0))
    end = time.monotonic() + 20
    while stored(store) != ["to/x"]:
        assert time.monotonic() < end, "it was not sent"
        time.sleep(0.01)
    courier.finish()
