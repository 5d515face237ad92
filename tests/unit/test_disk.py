"""Atomic writes: the old file or the new one, never half of one, and no temporary file left."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from footplate.disk import (
    FileLock,
    atomic_file,
    atomic_symlink,
    atomic_write,
    copy,
    is_locked,
    place,
    space,
    sync,
    write_all,
)
from footplate.errors import OutOfSpace


@pytest.mark.parametrize("durable", [True, False])
def test_a_write_replaces_the_file_and_leaves_nothing_else(tmp_path: Path, durable: bool) -> None:
    target = tmp_path / "f"
    target.write_bytes(b"a long old content")
    atomic_write(target, b"new", durable=durable)
    assert target.read_bytes() == b"new" and os.listdir(tmp_path) == ["f"]


def test_the_mode_is_that_of_the_caller(tmp_path: Path) -> None:
    atomic_write(tmp_path / "secret", b"x", durable=True, mode=0o600)
    atomic_write(tmp_path / "fixed", b"x", durable=False, mode=0o444)
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "fixed").stat().st_mode & 0o777 == 0o444


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")
    with pytest.raises(RuntimeError), atomic_file(tmp_path / "f", durable=True) as out:
        write_all(out, b"half")
        raise RuntimeError("stop")
    assert (tmp_path / "f").read_bytes() == b"old" and os.listdir(tmp_path) == ["f"]


def test_the_file_appears_only_when_it_is_complete(tmp_path: Path) -> None:
    with atomic_file(tmp_path / "f", durable=False, temporary=tmp_path / "t") as out:
        write_all(out, b"x")
        assert os.listdir(tmp_path) == ["t"]
    assert os.listdir(tmp_path) == ["f"]


def test_a_file_that_exists_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"first")
    with pytest.raises(FileExistsError), atomic_file(tmp_path / "f", durable=False, overwrite=False) as out:
        write_all(out, b"second")
    assert (tmp_path / "f").read_bytes() == b"first" and os.listdir(tmp_path) == ["f"]


def test_a_file_that_cannot_be_placed_is_removed(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"x")
    with pytest.raises(FileNotFoundError):
        place(tmp_path / "t", tmp_path / "missing" / "f")
    assert os.listdir(tmp_path) == []


def test_a_symlink_is_replaced(tmp_path: Path) -> None:
    for target in ("one", "two"):
        atomic_symlink(target, tmp_path / "link")
        assert os.readlink(tmp_path / "link") == target
    assert os.listdir(tmp_path) == ["link"]


def test_a_full_disk_is_out_of_space(tmp_path: Path) -> None:
    with pytest.raises(OutOfSpace, match="no space left under /data"), space("/data"):
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(PermissionError), space("/data"):
        raise PermissionError("other errors pass")


def test_copy_and_sync_of_many_files(tmp_path: Path) -> None:
    paths = [str(tmp_path / str(number)) for number in range(70)]
    for path in paths:
        Path(path).write_bytes(os.urandom(10))
    sync(paths)
    with open(paths[0], "rb") as source, open(tmp_path / "copy", "wb") as target:
        copy(source.fileno(), target.fileno())
    assert (tmp_path / "copy").read_bytes() == Path(paths[0]).read_bytes()


def test_a_lock_belongs_to_one_and_its_check_does_not_take_it(tmp_path: Path) -> None:
    path = tmp_path / "f.lock"
    assert not is_locked(path) and not path.exists()
    with FileLock(path) as first, FileLock(path) as second:
        assert first.try_take() and is_locked(path) and not second.try_take(seconds=0.01)
        first.release()
        assert not is_locked(path) and second.try_take(shared=True) and first.try_take(shared=True)
    assert not is_locked(path)
