from __future__ import annotations

import contextlib
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from footplate.node.node_directory import PACKAGE, NodeFolder, regular_files, runtime_folder


@pytest.fixture
def folder(tmp_path: Path) -> NodeFolder:
    made = NodeFolder(str(tmp_path), "run_1", 0)
    made.make()
    return made


def test_a_lock_has_one_holder(folder: NodeFolder) -> None:
    held = folder.take_lock()
    assert held is not None
    assert folder.take_lock() is None
    folder.write_holder(held, 4711, "123@boot", 2)
    folder.write_holder(held, 12, "9@b", 3)
    assert folder.read_holder() == {"pid": 12, "identity": "9@b", "attempt": 3}
    os.close(held)
    again = folder.take_lock()
    assert again is not None
    os.close(again)


def test_the_lock_survives_a_directory_that_is_being_removed(folder: NodeFolder) -> None:
    """A run restarted at once: the agent of the last attempt is just removing its directory."""
    is_over = threading.Event()
    shutil.rmtree(folder.path)

    def remove() -> None:
        while not is_over.is_set():
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder.path, "agent.lock"))
            with contextlib.suppress(OSError):
                os.rmdir(folder.path)

    with ThreadPoolExecutor(1) as pool:
        removal = pool.submit(remove)
        try:
            for _ in range(1000):
                held = folder.take_lock()
                if held is not None:
                    os.close(held)
        finally:
            is_over.set()
        removal.result()


def test_small_files_are_whole_or_absent(folder: NodeFolder) -> None:
    assert folder.read_exit() is None
    assert folder.read_state() == {} and folder.read_rank_exit(0) == {} and folder.rank_exit_time(0) is None
    folder.write_exit(3)
    folder.write_state({"run": "r\udcff"})
    Path(folder.exits, "rank_0.json").write_text('{"code": 1}')
    assert (folder.read_exit(), folder.read_state()) == (3, {"run": "r\udcff"})
    assert folder.read_rank_exit(0) == {"code": 1} and folder.rank_exit_time(0)
    folder.forget_exit()
    folder.forget_exit()
    assert folder.read_exit() is None
    Path(folder.exits, "rank_0.json").write_text("[cut")
    assert folder.read_rank_exit(0) == {}
    (Path(folder.exits) / "rank_0.succeeded").touch()
    assert folder.read_rank_exit(0) == {"code": 0}, "the note of a script whose disk was full"


def test_the_runs_directory_is_removed_with_its_last_node(tmp_path: Path, folder: NodeFolder) -> None:
    other = NodeFolder(str(tmp_path), "run_1", 1)
    other.make()
    locked = Path(folder.wd, "locked")
    locked.mkdir()
    (locked / "file").touch()
    locked.chmod(0o500)
    folder.remove()
    assert not folder.exists() and other.exists()
    other.remove()
    assert not (tmp_path / "work" / "run_1").exists()


# ── Files ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def listed(root: Path, inside: Path) -> tuple[dict[str, str], dict[str, str]]:
    refused: dict[str, str] = {}
    found = dict(regular_files(str(root), str(inside), lambda path, why: refused.update({path: why})))
    return found, refused


def test_links_are_followed_as_long_as_they_stay_inside(tmp_path: Path) -> None:
    root = tmp_path / "wd" / "outputs"
    (root / "b").mkdir(parents=True)
    (tmp_path / "wd" / "data").mkdir()
    (tmp_path / "wd-other").mkdir()
    for path in (root / "b" / "x", root / "a", tmp_path / "wd" / "data" / "y", tmp_path / "wd-other" / "z"):
        path.touch()
    (root / "linked").symlink_to("../data")
    (root / "file").symlink_to("b/x")
    (root / "neighbour").symlink_to("../../wd-other")
    (root / "b" / "up").symlink_to("..")
    (root / "gone").symlink_to("nowhere")
    os.mkfifo(root / "pipe")
    found, refused = listed(root, tmp_path / "wd")
    assert set(found) == {"a", "b/x", "file", "linked/y"}
    assert found["file"] == str(root / "b" / "x")
    assert refused == {
        "neighbour": "is a link that leaves the working directory",
        "b/up": "is part of a loop of links",
        "gone": "cannot be read: No such file or directory",
        "pipe": "is neither a file nor a directory",
    }


def test_a_home_behind_a_symlink_works(tmp_path: Path) -> None:
    (tmp_path / "real" / "wd" / "outputs").mkdir(parents=True)
    (tmp_path / "home").symlink_to("real")
    outputs = tmp_path / "home" / "wd" / "outputs"
    (outputs / "x").touch()
    (outputs / "same").symlink_to("x")
    (outputs / "round").symlink_to(".")
    found, refused = listed(outputs, tmp_path / "home" / "wd")
    assert set(found) == {"x", "same"} and set(refused) == {"round"}


def test_a_missing_directory_has_no_files(tmp_path: Path) -> None:
    assert listed(tmp_path / "none", tmp_path) == ({}, {})


def test_concurrent_creation_is_safe(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: runtime_folder(str(tmp_path), "1"), range(32)))
    assert set(made) == {str(tmp_path / "runtime" / "1")}
    assert set(os.listdir(made[0])) <= {"footplate", "azureml"}


def test_an_outdated_link_to_footplate_is_corrected(tmp_path: Path) -> None:
    folder = Path(runtime_folder(str(tmp_path), "1"))
    (folder / "footplate").unlink()
    (folder / "footplate").symlink_to("/old/place/footplate")
    runtime_folder(str(tmp_path), "1")
    assert os.readlink(folder / "footplate") == PACKAGE
