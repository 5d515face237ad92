"""Stacks of hanging processes: from outside, from inside, and of those that must not get the signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import footplate
from footplate.domain.stacks import ProcessStacks, ThreadStack
from footplate.node import stacks
from footplate.testing.waiting import wait_until

BOOTSTRAP = Path(footplate.__file__).parent / "job" / "bootstrap.py"
HANGS = """
import os, sys, threading
def wait_for_ever():
    lock = threading.Lock()
    lock.acquire()
    open("ready." + str(os.getpid()), "w").close()
    lock.acquire()
def worker():
    threading.Event().wait()
if "fork" in sys.argv:
    os.fork()
threading.Thread(target=worker, name="loader", daemon=True).start()
wait_for_ever()
"""


class Rank:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, *argv: str, processes: int = 1) -> list[int]:
        variables = {**os.environ, "FOOTPLATE_EXITS": str(self.folder), "FOOTPLATE_RANK": "1"}
        process = subprocess.Popen(argv, cwd=self.folder, env=variables, start_new_session=True)
        self.started.append(process)
        found = wait_until(lambda: (names := list(self.folder.glob("ready.*"))) and len(names) >= processes and names)
        return sorted(int(path.suffix[1:]) for path in found)


@pytest.fixture
def rank(tmp_path: Path) -> Iterator[Rank]:
    (tmp_path / "train.py").write_text(HANGS)
    made = Rank(tmp_path)
    yield made
    for process in made.started:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(120)


def innermost(thread: ThreadStack) -> str:
    return next(frame.function for frame in reversed(thread.frames) if "train.py" in frame.file)


def check(found: list[ProcessStacks], pids: list[int], source: str) -> None:
    assert [(each.node, each.rank, each.pid, each.source) for each in found] == [(7, 1, pid, source) for pid in pids]
    for each in found:
        assert sorted(innermost(thread) for thread in each.threads) == ["wait_for_ever", "worker"]
        assert "train.py" in each.command


def test_py_spy_reads_a_hanging_process(rank: Rank) -> None:
    pids = rank.start(sys.executable, str(BOOTSTRAP), "train.py")
    found = stacks.collect(pids, 7, stacks.find_spy())
    check(found, pids, "py-spy")
    main = next(thread for thread in found[0].threads if innermost(thread) == "wait_for_ever")
    assert main.name == "MainThread"


def test_without_py_spy_a_process_and_its_fork_write_their_stacks(rank: Rank) -> None:
    pids = rank.start(sys.executable, str(BOOTSTRAP), "train.py", "fork", processes=2)
    for _ in range(2):
        found = stacks.collect(pids, 7, None)
        check(found, pids, "faulthandler")
        assert all(innermost(each.threads[0]) == "wait_for_ever" for each in found), "the main thread comes first"


def test_a_process_without_the_handler_is_not_signalled(rank: Rank) -> None:
    pids = rank.start(sys.executable, "train.py")
    (found,) = stacks.collect(pids, 7, None)
    assert (found.threads, found.source) == ((), None)
    assert found.note is not None
    assert "py-spy is not installed" in found.note
    assert "cannot be asked" in found.note
    assert rank.started[0].poll() is None


def test_a_foreign_program_is_named_and_left_alone(rank: Rank) -> None:
    (pid,) = rank.start("/bin/sh", "-c", "> ready.$$; sleep 60; :")
    (found,) = stacks.collect([pid], 7, stacks.find_spy())
    assert found.note == "not a Python process"
    assert found.command.startswith("/bin/sh -c")


def test_dead_processes_are_left_out() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert stacks.collect([gone.pid], 0, None) == []
