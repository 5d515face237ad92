"""A mount ends with its run, whichever process was killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from azureml.core import Dataset, Datastore, Environment, Experiment, ScriptRunConfig, Workspace
from azureml.exceptions import ActivityFailedException
from footplate.data.mounts import mount
from footplate.testing.waiting import wait_until
from support.web_server import WebServer

pytestmark = pytest.mark.skipif(not mount.has_fuse() or os.geteuid() != 0, reason="needs FUSE")
SCRIPT = """
import os, sys, time
data, started, go = sys.argv[1:]
open(os.path.join(data, "first")).read()
with open(started + ".part", "w") as file:
    file.write(str(os.getpid()))
os.rename(started + ".part", started)
while not os.path.exists(go):
    time.sleep(0.05)
try:
    print("then:", open(os.path.join(data, "then")).read())
except OSError as error:
    print("then:", error.strerror)
"""


@pytest.fixture
def web() -> Iterator[WebServer]:
    server = WebServer()
    yield server
    server.stop()


def mounts_below(folder: Path) -> list[str]:
    return [line for line in Path("/proc/self/mounts").read_text().splitlines() if f" {folder}/" in line]


def who_holds(name: str, home: Path) -> list[int]:
    """Return processes that have a file of this name open, below the mount records of this home."""
    found = list[int]()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            held = [os.readlink(link) for link in (process / "fd").iterdir()]
            if any(path.startswith(f"{home}/cache/data/mounts/") and path.endswith(name) for path in held):
                found.append(int(process.name))
    return found


def supervisors(home: Path) -> list[int]:
    """Return the supervisor and then its serving child: both have the supervisor's lock open."""
    return sorted(who_holds("/supervisor.lock", home), key=lambda pid: Path(f"/proc/{pid}/stat").stat().st_ctime)


def agent_of(run: str, home: Path) -> int:
    (lock,) = (home / "work" / run).glob("*/agent.lock")
    return int(json.loads(lock.read_text())["pid"])


VICTIMS: dict[str, Callable[[str, Path, int], list[int]]] = {
    "script": lambda run, home, script: [script],
    "agent": lambda run, home, script: [agent_of(run, home)],
    "server": lambda run, home, script: [int(json.loads((home / "server.json").read_text())["pid"])],
    "supervisor": lambda run, home, script: supervisors(home)[:1],
    "file server": lambda run, home, script: supervisors(home)[1:],
    "supervisor and file server": lambda run, home, script: supervisors(home),
    "agent and supervisor": lambda run, home, script: [agent_of(run, home), *supervisors(home)[:1]],
    "agent, supervisor and file server": lambda run, home, script: [agent_of(run, home), *supervisors(home)],
    "script and agent": lambda run, home, script: [agent_of(run, home), script],
}


@pytest.mark.parametrize("victim", VICTIMS)
def test_nothing_stays_mounted(workspace: Workspace, web: WebServer, home: Path, tmp_path: Path, victim: str) -> None:
    here = Environment("here")
    here.python.user_managed_dependencies, here.python.interpreter_path = True, sys.executable
    web.serve("first", b"1")
    web.serve("then", b"2")
    site = Datastore.register_web(workspace, "site", web.address)
    dataset = Dataset.File.from_files([(site, "first"), (site, "then")])
    Path("src").mkdir()
    Path("src/script.py").write_text(SCRIPT)
    started, go = tmp_path / "started", tmp_path / "go"
    arguments = [dataset.as_named_input("data").as_mount(), str(started), str(go)]
    run = Experiment(workspace, "ends").submit(ScriptRunConfig("src", "script.py", arguments, environment=here))
    wait_until(started.exists)
    assert mounts_below(home)
    pids = VICTIMS[victim](run.id, home, int(started.read_text()))
    assert pids and len(supervisors(home)) == 2
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    go.touch()
    if "script" in victim:
        with pytest.raises(ActivityFailedException):
            run.wait_for_completion()
    else:
        run.wait_for_completion()
        assert run.get_status() == "Completed"
    wait_until(lambda: not mounts_below(home))
    wait_until(lambda: not list((home / "cache/data/mounts").iterdir()))
    wait_until(lambda: not who_holds("", home))
