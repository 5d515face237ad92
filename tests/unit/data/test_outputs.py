from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from footplate.data import FileStore, OutputUploader, open_store
from footplate.domain.data import StoreSpec
from footplate.testing.waiting import wait_until


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return open_store(StoreSpec("folder", {"path": str(tmp_path / "store")}))


def courier_of(store: FileStore, tmp_path: Path, **how: Any) -> OutputUploader:
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


def test_files_are_sent_as_they_are_done_and_again_when_they_change(store: FileStore, tmp_path: Path) -> None:
    courier = courier_of(store, tmp_path)
    fill(tmp_path / "out", "done", "deep/fresh")
    age(tmp_path / "out/done", 100)
    courier.send(until=time.time() - 50)
    assert stored(store) == {"to/done": b"done"}
    (tmp_path / "out/done").write_text("once more")
    courier.finish()
    assert stored(store) == {"to/done": b"once more", "to/deep/fresh": b"deep/fresh"}


def test_what_somebody_has_open_waits(store: FileStore, tmp_path: Path) -> None:
    fill(tmp_path / "out", "open", "closed")
    for name in ("open", "closed"):
        age(tmp_path / "out" / name, 100)
    info = os.stat(tmp_path / "out/open")
    courier = courier_of(store, tmp_path, being_written=lambda: frozenset([(info.st_dev, info.st_ino)]))
    courier.send(until=time.time())
    assert stored(store) == {"to/closed": b"closed"}
    courier.finish()
    assert stored(store) == {"to/closed": b"closed", "to/open": b"open"}


def test_whoever_comes_after_goes_on_with_what_is_not_written_down(store: FileStore, tmp_path: Path) -> None:
    fill(tmp_path / "out", "a", "b")
    courier_of(store, tmp_path).finish()
    for name in ("a", "b"):
        store.delete(f"to/{name}")
    fill(tmp_path / "out", "c")
    with (tmp_path / "notes").open("a") as notes:
        notes.write('["c", 1, 5')  # a death in the middle of a line
    courier_of(store, tmp_path).finish()
    assert stored(store) == {"to/c": b"c"}, "what was sent is sent again, or what was not is missing"


def test_what_is_not_chosen_stays(store: FileStore, tmp_path: Path) -> None:
    fill(tmp_path / "out", "a.csv", "b.txt")
    courier_of(store, tmp_path, chosen=lambda name: name.endswith(".csv")).finish()
    assert list(stored(store)) == ["to/a.csv"]


def test_files_of_others_stay_unless_they_are_to_be_replaced(store: FileStore, tmp_path: Path) -> None:
    fill(tmp_path / "out", "mine", "theirs")
    store.put("to/theirs", b"before")
    courier = courier_of(store, tmp_path, replaces=False)
    courier.send(until=time.time() + 1)
    (tmp_path / "out/mine").write_text("changed")
    courier.finish()
    assert stored(store) == {"to/mine": b"changed", "to/theirs": b"before"}
    assert courier.kept == ["theirs"]
    courier_of(store, tmp_path).finish()
    assert store.read("to/theirs") == b"theirs"


def test_a_folder_that_nobody_made_is_no_error(store: FileStore, tmp_path: Path) -> None:
    courier_of(store, tmp_path).finish()
    assert stored(store) == {}


def test_a_courier_works_by_itself(store: FileStore, tmp_path: Path) -> None:
    courier = courier_of(store, tmp_path).start()
    fill(tmp_path / "out", "x")
    age(tmp_path / "out/x", 100)
    wait_until(lambda: stored(store) == {"to/x": b"x"})
    courier.finish()
