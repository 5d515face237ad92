from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from footplate.engines.client_processes import is_gone
from footplate.node import process_tree


def describe(pid: int) -> str:
    return f"{pid} {process_tree.identity(pid)} {os.readlink('/proc/self/ns/pid')}"


def test_only_certainty_counts(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    known = describe(process.pid)
    assert not is_gone(known)
    process.communicate(b"\n")
    assert is_gone(known)
    assert not is_gone(known.replace(process_tree.boot(), "elsewhere"))
    assert not is_gone(known.replace("pid:[", "pid:[9"))
    assert not is_gone("nonsense")
