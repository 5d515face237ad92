"""Paths that stay beneath a directory, whatever symlinks others put there."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from footplate.data.stores import beneath
from footplate.data.stores.folder import ConfinedFolder
from footplate.domain.data import StoreSpec
from footplate.errors import Conflict, NotAllowed, NotFound

Opener = Callable[[int, str, int], int]
WAYS = {"openat2": beneath.open_with_openat2, "components": beneath.open_by_components}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret").write_text("secret")
    return folder


@pytest.fixture
def root(tmp_path: Path, outside: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "a/deep").mkdir(parents=True)
    (folder / "a/file").write_text("inside")
    (folder / "out").symlink_to(outside)
    (folder / "a/up").symlink_to("../../outside")
    (folder / "stolen").symlink_to(outside / "secret")
    (folder / "loop").symlink_to("loop")
    return folder


@pytest.fixture
def directory(root: Path) -> Iterator[int]:
    opened = os.open(root, os.O_PATH)
    yield opened
    os.close(opened)


@pytest.fixture
def store(root: Path) -> ConfinedFolder:
    return ConfinedFolder(StoreSpec("folder", {"path": str(root)}))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("path", ["stolen", "out/secret", "a/up/secret", "a/../../outside/secret", "../outside/secret"])
def test_paths_that_lead_outside_are_refused(directory: int, way: str, path: str) -> None:
    with pytest.raises(OSError, match="cross-device") as caught:
        WAYS[way](directory, path, os.O_RDONLY)
    assert caught.value.errno == errno.EXDEV


@pytest.mark.parametrize("way", WAYS)
def test_paths_inside_are_opened(directory: int, way: str) -> None:
    file = WAYS[way](directory, "a/file", os.O_RDONLY)
    assert os.read(file, 10) == b"inside"
    os.close(file)
    with pytest.raises(FileNotFoundError):
        WAYS[way](directory, "a/nothing", os.O_RDONLY)
    with pytest.raises(NotADirectoryError):
        WAYS[way](directory, "a/file/x", os.O_RDONLY)


def test_symlinks_that_stay_inside_are_followed(store: ConfinedFolder, root: Path) -> None:
    (root / "b").symlink_to("a")
    (root / "a/deep/back").symlink_to("../file")
    assert store.read("b/file") == store.read("a/deep/back") == b"inside"
    store.put("b/new", b"1")
    assert (root / "a/new").read_bytes() == b"1"


def test_a_listing_leaves_out_what_leads_outside(store: ConfinedFolder) -> None:
    assert [entry.path for page in store.list() for entry in page] == ["a/file"]
    assert sorted(store.children().folders) == ["a"] and store.children().files == []
    for folder in ("out", "a/up"):
        with pytest.raises(NotAllowed, match=f"{folder}.*leads outside"):
            store.children(folder)


def test_nothing_outside_is_read(store: ConfinedFolder) -> None:
    for path in ("stolen", "out/secret", "a/up/secret"):
        for read in (store.stat, store.read, store.open, lambda path: list(store.stream(path))):
            with pytest.raises(NotAllowed, match=f"{path}.*leads outside"):
                read(path)
    with pytest.raises(NotFound):
        store.stat("loop")


def test_nothing_outside_is_written_or_deleted(store: ConfinedFolder, outside: Path, tmp_path: Path) -> None:
    for path in ("out/new", "out/deep/new", "a/up/new"):
        with pytest.raises(NotAllowed, match="leads outside"):
            store.put(path, b"1")
        (tmp_path / "aside").write_bytes(b"1")
        with pytest.raises(NotAllowed, match="leads outside"):
            store.take(path, tmp_path / "aside")
    with pytest.raises(NotAllowed, match="leads outside"):
        store.delete("out/secret")
    assert os.listdir(outside) == ["secret"]


def test_writing_to_a_symlink_replaces_it(store: ConfinedFolder, root: Path, outside: Path) -> None:
    store.put("stolen", b"new")
    assert not (root / "stolen").is_symlink() and store.read("stolen") == b"new"
    assert (outside / "secret").read_text() == "secret"
    store.delete("out")
    assert not os.path.lexists(root / "out") and outside.is_dir()


def test_pipes_do_not_block_the_server(store: ConfinedFolder, root: Path) -> None:
    os.mkfifo(root / "pipe")
    for read in (store.read, store.open, store.stat):
        with pytest.raises(NotFound):
            read("pipe")


def test_a_new_folder_is_made_and_existing_files_are_kept(tmp_path: Path) -> None:
    store = ConfinedFolder(StoreSpec("folder", {"path": str(tmp_path / "new/root")}))
    assert list(store.list()) == []
    store.put("x/y/z", b"1", if_absent=True)
    with pytest.raises(Conflict, match="'x/y/z' already exists"):
        store.put("x/y/z", b"2", if_absent=True)
    with pytest.raises(Conflict, match="both a file and a folder"):
        store.put("x/y/z/below", b"2")
    assert store.read("x/y/z") == b"1" and os.listdir(tmp_path / "new/root/x/y") == ["z"]
