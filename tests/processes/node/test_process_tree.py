from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from footplate.node import process_tree
from footplate.testing.waiting import wait_until

Start = Callable[..., subprocess.Popen[str]]

# Prints the pid of a grandchild that left its session and lost its parent, then waits.
DAEMON_MAKER = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    print(os.getpid(), flush=True)
    time.sleep(600)
os.wait()
time.sleep(600)
"""


@pytest.fixture
def run() -> str:
    return uuid.uuid4().hex


@pytest.fixture
def start(run: str) -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def begin(text: str, **variables: str) -> subprocess.Popen[str]:
        env = {**os.environ, **variables}
        process = subprocess.Popen([sys.executable, "-S", "-c", text], env=env, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield begin
    process_tree.send(process_tree.members(marked(run)), signal.SIGKILL)
    for process in started:
        process.kill()
        process.communicate()


def marked(run: str, node: int = 0, home: str = "/home") -> dict[str, str]:
    return process_tree.marker(run, node, f"{home}/exits")


def test_a_process_is_identified_by_more_than_its_pid(start: Start) -> None:
    process = start("import time; time.sleep(600)")
    known = process_tree.identity(process.pid)
    assert known is not None and process_tree.alive(process.pid, known)
    assert not process_tree.alive(os.getpid(), known)
    process.kill()
    wait_until(lambda: (seen := process_tree.look(process.pid)) is None or seen.zombie)
    assert process_tree.identity(process.pid) is None, "a zombie is not alive"
    process.wait()
    assert process_tree.look(process.pid) is None


def test_command_names_may_contain_brackets_and_spaces(tmp_path: Any) -> None:
    odd = tmp_path / "a ) R 1 ("
    odd.symlink_to("/bin/sleep")
    process = subprocess.Popen([str(odd), "600"])
    try:
        found = process_tree.look(process.pid)
        assert found is not None and found.parent == os.getpid()
    finally:
        process.kill()
        process.wait()


def test_daemons_are_found_by_their_marker(start: Start, run: str) -> None:
    maker = start(DAEMON_MAKER, **marked(run))
    assert maker.stdout is not None
    daemon = int(maker.stdout.readline())
    assert {maker.pid, daemon} <= set(process_tree.members(marked(run)))
    assert process_tree.members(marked(run, node=1)) == []
    assert process_tree.members(marked(run, home="/other")) == []


CHILD = "import subprocess; p = subprocess.Popen({argv}, env={env}); print(p.pid, flush=True); p.wait()"


def child_of(parent: subprocess.Popen[str]) -> int:
    """Return the child, whose program has begun: Popen returns a moment before the kernel shows its arguments."""
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    wait_until(Path(f"/proc/{child}/cmdline").read_bytes)
    return child


def test_children_without_any_marker_belong_to_a_marked_parent(start: Start, run: str) -> None:
    parent = start(CHILD.format(argv=["/bin/sleep", "600"], env={}), **marked(run))
    child = child_of(parent)
    assert set(process_tree.members(marked(run))) == {parent.pid, child}
    unmarked = start(CHILD.format(argv=["/bin/sleep", "600"], env={}))
    below = child_of(unmarked)
    try:
        assert set(process_tree.members({"NO_SUCH": "x"}, roots=[unmarked.pid])) == {unmarked.pid, below}
        assert process_tree.members({"NO_SUCH": "x"}, agent=unmarked.pid) == [below]
        assert process_tree.members({"NO_SUCH": "x"}) == []
    finally:
        process_tree.send([below], signal.SIGKILL)


@pytest.mark.parametrize("other", [{"FOOTPLATE_RUN_ID": "other"}, {"FOOTPLATE_AGENT": "server"}])
def test_processes_of_others_are_not_ours_whoever_started_them(start: Start, run: str, other: dict[str, str]) -> None:
    parent = start(CHILD.format(argv=["/bin/sleep", "600"], env=other), **marked(run))
    child = child_of(parent)
    try:
        assert process_tree.members(marked(run)) == [parent.pid]
        assert process_tree.members(marked(run), agent=parent.pid) == [parent.pid]
    finally:
        process_tree.send([child], signal.SIGKILL)


def test_a_process_that_cannot_be_checked_is_not_dead() -> None:
    """In a process of its own, whose limit of open files is used up."""
    text = (
        "import errno, os, resource\n"
        "from footplate.node import process_tree as tree\n"
        "known = tree.identity(os.getpid())\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))\n"
        "for check in (lambda: tree.alive(os.getpid(), known), tree.everyone, lambda: tree.variables(os.getpid())):\n"
        "    try: raise SystemExit(f'answered {check()}')\n"
        "    except OSError as error: assert error.errno == errno.EMFILE, error\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True, timeout=30)


def test_a_subreaper_can_leave_an_orphan_to_init() -> None:
    text = (
        "import os, subprocess\n"
        "from footplate.node import process_tree as tree\n"
        "assert tree.become_subreaper()\n"
        "def orphan(): return int(subprocess.check_output(['sh', '-c', 'sleep 60 >&- & echo $!']))\n"
        "ours = orphan()\n"
        "with tree.adopting_nobody(): theirs = orphan()\n"
        "again = orphan()\n"
        "parents = [tree.look(pid).parent == os.getpid() for pid in (ours, theirs, again)]\n"
        "tree.send([ours, theirs, again], 9)\n"
        "assert parents == [True, False, True], parents\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True, timeout=30)


def test_footplates_own_processes_are_spared(start: Start, run: str) -> None:
    parent = start(
        "import os, subprocess\n"
        f"agent = dict(os.environ, {process_tree.MACHINERY}='other/0'); agent.pop('FOOTPLATE_RUN_ID')\n"
        "a = subprocess.Popen(['sh', '-c', 'sleep 600 & echo $!; wait'], env=agent, stdout=-1, text=True)\n"
        "print(a.pid, a.stdout.readline(), flush=True); a.wait()\n",
        **marked(run),
    )
    assert parent.stdout is not None
    agent, below = (int(word) for word in parent.stdout.readline().split())
    try:
        assert process_tree.members(marked(run)) == [parent.pid]
        assert agent not in process_tree.below(parent.pid)
    finally:
        process_tree.send([below, agent], signal.SIGKILL)


def test_only_a_process_with_a_handler_handles_a_signal(start: Start) -> None:
    handler = "import signal, time; signal.signal(signal.SIGUSR1, print); print('up', flush=True); time.sleep(60)"
    first, second = start(handler), start("import time; print('up', flush=True); time.sleep(60)")
    for process in (first, second):
        assert process.stdout is not None and process.stdout.readline() == "up\n"
    assert process_tree.handles(first.pid, signal.SIGUSR1)
    assert not process_tree.handles(first.pid, signal.SIGUSR2)
    assert not process_tree.handles(second.pid, signal.SIGUSR1)
    second.kill()
    second.wait()
    assert not process_tree.handles(second.pid, signal.SIGINT)


def test_end_asks_first_and_returns_the_killed(start: Start, run: str) -> None:
    polite = start("print('up', flush=True); import time; time.sleep(600)", **marked(run))
    deaf = start(
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)",
        **marked(run),
    )
    for process in (polite, deaf):
        assert process.stdout is not None and process.stdout.readline()
    killed = process_tree.end(lambda: process_tree.members(marked(run)), 0.3)
    assert killed == [deaf.pid]
    assert (polite.wait(), deaf.wait()) == (-signal.SIGTERM, -signal.SIGKILL)


def test_end_reaches_stopped_and_forking_processes(start: Start, run: str) -> None:
    stopped = start("print('up', flush=True); import time; time.sleep(600)", **marked(run))
    forks = start(
        "import os, signal, sys, time\n"
        "def again(*_):\n"
        "    if os.fork() == 0: os.setsid()\n"
        "    time.sleep(600)\n"
        "signal.signal(signal.SIGTERM, again); print('up', flush=True); time.sleep(600)",
        **marked(run),
    )
    for process in (stopped, forks):
        assert process.stdout is not None and process.stdout.readline()
    os.kill(stopped.pid, signal.SIGSTOP)
    process_tree.end(lambda: process_tree.members(marked(run)), 0.2)
    assert process_tree.members(marked(run)) == []
    assert stopped.wait() == -signal.SIGTERM


def test_a_subreaper_adopts_and_reaps_orphans() -> None:
    text = (
        "import os, subprocess\n"
        "from footplate.node import process_tree as tree\n"
        "from footplate.testing.waiting import wait_until\n"
        "assert tree.become_subreaper()\n"
        "rank = subprocess.Popen(['sh', '-c', 'sleep 0.05 & exit 7'])\n"
        "def ours(): return [p for p in tree.everyone().values() if p.parent == os.getpid()]\n"
        "wait_until(lambda: len(ours()) == 2 and all(p.zombie for p in ours()))\n"
        "tree.reap_strays([rank.pid]); tree.reap_strays([])\n"
        "assert ours() == []\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True, timeout=30)


DESCENDANTS = """
import os, subprocess, sys
from footplate.node import process_tree
unknown = process_tree.has_no_descendants()
process_tree.become_subreaper()
alone = process_tree.has_no_descendants()
made = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE, text=True)
daemon = int(made.stdout.readline())
made.kill()
made.wait()
orphaned = process_tree.has_no_descendants()
os.kill(daemon, 9)
while not process_tree.has_no_descendants():  # its parent may have become an orphan, too
    os.wait()
gone = process_tree.has_no_descendants()
with process_tree.adopting_nobody():
    pass
print(unknown, alone, orphaned, gone, process_tree.has_no_descendants())
"""


def test_only_a_lasting_subreaper_knows_that_nothing_is_left() -> None:
    asked = subprocess.run(
        [sys.executable, "-c", DESCENDANTS, DAEMON_MAKER], capture_output=True, text=True, timeout=60, check=True
    )
    assert asked.stdout.split() == ["False", "True", "False", "True", "False"]
