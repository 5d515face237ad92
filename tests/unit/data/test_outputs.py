from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from footplate.data.outputs import OutputUploader
from footplate.data.stores.base import FileStore
from footplate.data.stores.registry import open_store
from footplate.domain.data import StoreSpec
from footplate.testing.waiting import wait_until


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return open_store(StoreSpec("folder", {"path": str(tmp_path / "store")}))


def uploader_of(store: FileStore, tmp_path: Path, **how: Any) -> OutputUploader:
    return OutputUploader(tmp_path / "out", store, "to", tmp_path / "notes", **how)


def fill(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


def stored(store: FileStore) -> dict[str, bytes]:
    return {entry.path: store.read(entry.path) for page in store.list() for entry in page}


def age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_finished_files_are_sent_and_sent_again_when_they_change(store: FileStore, tmp_path: Path) -> None:
    uploader = uploader_of(store, tmp_path)
    fill(tmp_path / "out", "done", "deep/fresh")
    age(tmp_path / "out/done", 100)
    uploader.send(until=time.time() - 50)
    assert stored(store) == {"to/done": b"done"}
    (tmp_path / "out/done").write_text("once more")
    uploader.finish()
    assert stored(store) == {"to/done": b"once more", "to/deep/fresh": b"deep/fresh"}


def test_open_files_are_not_sent(store: FileStore, tmp_path: Path) -> None:
    fill(tmp_path / "out", "open", "closed")
    for name in ("open", "closed"):
        age(tmp_path / "out" / name, 100)
    info = os.stat(tmp_path / "out/open")
    uploader = uploader_of(store, tmp_path, being_written=lambda: frozenset([(info.st_dev, info.st_ino)]))
    uploader.send(until=time.time())
    assert stored(store) == {"to/closed": b"closed"}
    uploader.finish()
    assert stored(store) == {"to/closed": b"closed", "to/open": b"open"}


def test_a_successor_resumes_with_unrecorded_files(store: FileStore, tmp_path: Path) -> None:
    fill(tmp_path / "out", "a", "b")
    uploader_of(store, tmp_path).finish()
    for name in ("a", "b"):
        store.delete(f"to/{name}")
    fill(tmp_path / "out", "c")
    with (tmp_path / "notes").open("a") as notes:
        notes.write('["c", 1, 5')  # the uploader died in the middle of a line
    uploader_of(store, tmp_path).finish()
    assert stored(store) == {"to/c": b"c"}, "a sent file was sent again, or an unsent one is missing"


def test_files_that_are_not_chosen_stay(store: FileStore, tmp_path: Path) -> None:
    fill(tmp_path / "out", "a.csv", "b.txt")
    uploader_of(store, tmp_path, chosen=lambda name: name.endswith(".csv")).finish()
    assert list(stored(store)) == ["to/a.csv"]


def test_files_of_others_stay_unless_replaced(store: FileStore, tmp_path: Path) -> None:
    fill(tmp_path / "out", "mine", "theirs")
    store.put("to/theirs", b"before")
    uploader = uploader_of(store, tmp_path, replaces=False)
    uploader.send(until=time.time() + 1)
    (tmp_path / "out/mine").write_text("changed")
    uploader.finish()
    assert stored(store) == {"to/mine": b"changed", "to/theirs": b"before"}
    assert uploader.kept == ["theirs"]
    uploader_of(store, tmp_path).finish()
    assert store.read("to/theirs") == b"theirs"


def test_a_missing_folder_is_not_an_error(store: FileStore, tmp_path: Path) -> None:
    uploader_of(store, tmp_path).finish()
    assert stored(store) == {}


def test_an_uploader_works_in_the_background(store: FileStore, tmp_path: Path) -> None:
    uploader = uploader_of(store, tmp_path).start()
    fill(tmp_path / "out", "x")
    age(tmp_path / "out/x", 100)
    wait_until(lambda: stored(store) == {"to/x": b"x"})
    uploader.finish()
