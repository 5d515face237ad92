"""Atomic writes: the old file or the new one, never half of one, and no temporary file left."""

from __future__ import annotations

import subprocess
from pathlib import Path

from footplate.disk import (
    FileLock,
    is_locked,
)


def test_a_lock_lives_as_long_as_a_process_that_inherited_it(tmp_path: Path) -> None:
    with FileLock(tmp_path / "f.lock") as lock:
        lock.take()
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[lock.file])
    assert is_locked(tmp_path / "f.lock")
    child.kill()
    child.communicate()
    assert not is_locked(tmp_path / "f.lock")
