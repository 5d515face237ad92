"""Files that grow by offset, even when the disk fills up in the middle of a piece."""

from __future__ import annotations

import multiprocessing
import resource
from pathlib import Path

import pytest

from footplate.errors import OutOfSpace
from footplate.storage.series import append_files


def _fill(file: Path, limit: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    with pytest.raises(OutOfSpace):
        append_files.append(file, 100, b"y" * 10_000)
    with pytest.raises(OutOfSpace):
        append_files.replace(file, file.with_name("aside"), 0, b"z" * 10_000)


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "log"
    append_files.append(file, 0, b"x" * 100)
    child = multiprocessing.get_context("fork").Process(target=_fill, args=(file, 4096))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert file.read_bytes() == b"x" * 100
    assert [p.name for p in tmp_path.iterdir()] == ["log"]
    assert append_files.append(file, 100, b"y") == 101
