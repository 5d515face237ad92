"""Features of conda packages, each on a channel that is built here: as in conda, or refused with a message."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from footplate.errors import Broken
from support.conda_channel import Package, make_channel, module

from ...unit.environments.test_conda_packages import PYTHON, _no_other_packages, build, lock_of

__all__ = ["_no_other_packages"]  # fixtures


# ── In packages ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_entry_points_of_a_noarch_package_are_programs_of_the_environment(tmp_path: Path) -> None:
    code = "import sys\ndef main():\n    print('from', sys.prefix)\n"
    tool = replace(module("tool", "1.0", text=code), entry_points=("run-tool = tool:main",))
    interpreter, _ = build(tmp_path, lock_of(tmp_path, [make_channel(tmp_path / "c", [PYTHON, tool])], "tool"))
    program = Path(interpreter.argv[0]).parent / "run-tool"
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"from {program.parent.parent}"


@pytest.mark.parametrize("code", [0, 3])
def test_link_scripts_of_packages_run_and_failures_are_errors(code: int, tmp_path: Path) -> None:
    """A script that fails is an error and leaves nothing behind."""
    script = f'#!/bin/sh\necho "$PREFIX $PKG_NAME" > "$PREFIX/linked.txt"\nexit {code}\n'.encode()
    linked = Package(
        "linked", "1.0", {"bin/.linked-post-link.sh": script}, programs=frozenset(["bin/.linked-post-link.sh"])
    )
    made = lock_of(tmp_path, [make_channel(tmp_path / "c", [PYTHON, linked])], "linked")
    folder = tmp_path / "e" / made.digest
    if code != 0:
        with pytest.raises(Broken, match=r"failed: bin/\.linked-post-link\.sh of linked"):
            build(tmp_path, made)
        assert not folder.exists()
        return
    assert build(tmp_path, made)[0].argv == (str(folder / "bin" / "python"),)
    assert (folder / "linked.txt").read_text().split() == [str(folder), "linked"]
