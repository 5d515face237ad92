from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import footplate
from footplate.node.node_directory import NodeFolder, runtime_folder


@pytest.fixture
def folder(tmp_path: Path) -> NodeFolder:
    made = NodeFolder(str(tmp_path), "run_1", 0)
    made.make()
    return made


def test_the_lock_is_the_last_file_that_is_removed(tmp_path: Path) -> None:
    """The agent of the next attempt waits for it: what it made meanwhile would be removed under its hands."""
    code = """
import os, sys
from footplate.node.node_directory import NodeFolder
folder, removed = NodeFolder(sys.argv[1], "run_1", 0), []
folder.make()
held = folder.take_lock()
for number in range(20):
    open(os.path.join(folder.path, f"file_{number}"), "w").close()
sys.addaudithook(lambda event, args: removed.append(str(args[0])) if event in ("os.remove", "os.rmdir") else None)
folder.remove()
print(len(removed), *(os.path.basename(path) for path in removed[-3:]), os.listdir(sys.argv[1]))
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["28", "agent.lock", "node_0", "run_1", "['work']"], done.stdout


def test_the_lock_dies_with_its_process(folder: NodeFolder) -> None:
    held = folder.take_lock()
    assert held is not None
    with subprocess.Popen(["sleep", "600"], pass_fds=[held]) as heir:
        os.close(held)
        assert folder.take_lock() is None
        heir.kill()
    after = folder.take_lock()
    assert after is not None
    os.close(after)


# ── What jobs import from ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_job_finds_footplate_and_nothing_else_of_ours(tmp_path: Path) -> None:
    folder = runtime_folder(str(tmp_path), "1.2.3")
    assert folder == str(tmp_path / "runtime" / "1.2.3")
    assert set(os.listdir(folder)) <= {"footplate", "azureml"}
    text = "import footplate.errors, sys; print(footplate.__file__)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", text], env={"PYTHONPATH": folder}, capture_output=True, text=True, check=True
    )
    assert os.path.samefile(done.stdout.strip(), footplate.__file__)


def test_a_lock_that_cannot_be_made_leaves_no_directory(tmp_path: Path) -> None:
    """In a process of its own, whose limit of open files is used up."""
    text = (
        "import resource, sys\n"
        "from footplate.node.node_directory import NodeFolder\n"
        "folder = NodeFolder(sys.argv[1], 'r', 0)\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))\n"
        "try: raise SystemExit(f'locked: {folder.take_lock()}')\n"
        "except OSError: pass\n"
    )
    subprocess.run([sys.executable, "-c", text, str(tmp_path)], check=True, timeout=60)
    assert list((tmp_path / "work").iterdir()) == []
