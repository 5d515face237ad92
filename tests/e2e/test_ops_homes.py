"""Unusual homes: odd names, missing rights, leftovers of killed servers, clocks that go back."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from footplate import Experiment, Workspace
from footplate.client import connect
from footplate.client import home as homes
from footplate.client.launcher import stop_server
from footplate.domain.records import RunRecord, Stage
from footplate.domain.specs import RunSpec
from footplate.errors import FootplateError
from footplate.services.workspaces import WorkspaceService
from footplate.storage import RunQuery, Storage
from footplate.testing.waiting import wait_until
from support.ops_tools import bytes_of, finish, kill_server, server_pid, submit, write_source

SCRIPT = """
    from azureml.core import Run
    run = Run.get_context()
    run.log("value", 1.5)
    print("said")
    open("outputs/a b.txt", "w").write("kept")
    open("outputs/line\\nbreak.txt", "w").write("odd")
    open("logs/odd\\nlog.txt", "w").write("log")
    run.upload_file("mine.txt", "outputs/a b.txt")
"""
NAMES = [
    "with space",
    "ünï ©ode 模型",
    'quo\'te "double"',
    "per%41cent%",
    "ques?tion=1&x#y",
    "co:lon;semi $HOME `x`",
    "L" * 200,
]


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="o", dir="/tmp") as name:
        yield Path(name)


@pytest.mark.parametrize("name", NAMES)
def test_home_may_have_any_name(folder: Path, project: Path, tmp_path: Path, monkeypatch, name: str) -> None:
    home = folder / name / "home"
    monkeypatch.setenv("FOOTPLATE_HOME", str(home))
    try:
        run = finish(submit(Workspace.from_config(), project, SCRIPT))
        assert run.get_status() == "Completed", run.get_details()
        assert run.get_metrics() == {"value": 1.5}
        assert {"mine.txt", "outputs/a b.txt", "outputs/line\nbreak.txt", "logs/odd\nlog.txt"} < set(
            run.get_file_names()
        )
        assert bytes_of(run, "outputs/line\nbreak.txt", tmp_path) == b"odd"
        assert bytes_of(run, "logs/odd\nlog.txt", tmp_path) == b"log"
    finally:
        stop_server(str(home))
    assert (home / "footplate.db").is_file()
    assert [entry.name for entry in folder.iterdir()] == [name], "nothing beside the home"


def test_home_that_is_not_writable_is_an_error(folder: Path) -> None:
    """Root may write everywhere except on a read-only file system."""
    root = os.geteuid() == 0
    if root:
        mount = ["mount", "-t", "tmpfs", "-o", "ro,size=1m,mode=0700", "footplate-test", str(folder)]
        if subprocess.run(mount, capture_output=True).returncode != 0:
            pytest.skip("no file system can be mounted here")
    else:
        folder.chmod(0o500)
    try:
        with pytest.raises(FootplateError, match=rf"{folder} cannot be written: \w+") as refusal:
            connect(str(folder))
        assert "FOOTPLATE_HOME" in (refusal.value.hint or "")
    finally:
        if root:
            subprocess.run(["umount", str(folder)], check=True)
        else:
            folder.chmod(0o700)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_home_of_another_user_is_an_error(folder: Path) -> None:
    os.chown(folder, 65534, 65534)
    with pytest.raises(FootplateError, match="belongs to user 65534"):
        homes.home_folder(str(folder))


def test_two_homes_are_independent(folder: Path, project: Path, monkeypatch) -> None:
    found: list[list[str | None]] = []
    for name in ("one", "two"):
        monkeypatch.setenv("FOOTPLATE_HOME", str(folder / name))
        experiment = Experiment(Workspace.from_config(), "ops")
        experiment.start_logging(snapshot_directory=None, display_name=name).complete()
        found.append([run.display_name for run in experiment.get_runs()])
    assert found == [["one"], ["two"]]
    for name in ("one", "two"):
        stop_server(str(folder / name))


def test_leftovers_of_a_killed_server_are_ignored(home: Path, project: Path, workspace: Workspace) -> None:
    """A record, a socket, locks and half a file of a killed server, whose pid now belongs to another process."""
    run = Experiment(workspace, "ops").start_logging(snapshot_directory=None)
    stranger = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"], env={"PATH": os.environ["PATH"]}
    )
    try:
        before = server_pid(home)
        kill_server(home)
        record = json.loads((home / "server.json").read_text())
        (home / "server.json").write_text(json.dumps({**record, "pid": stranger.pid, "version": "0.0.1"}))
        (home / "server.lock").write_text(str(stranger.pid))
        (home / "server.json.12345").write_text("{half")
        (home / "socket" / "server.sock.new").touch()
        assert run.get_status() == "Running"
        assert server_pid(home) not in (before, stranger.pid)
        stop_server(str(home))
        assert stranger.poll() is None, "a stranger was taken for the server, and ended"
        for rubbish in (b"", b"{", b"[]", b"\xff\xfe", b'{"pid": "x", "socket": 5}'):
            (home / "server.json").write_bytes(rubbish)
            assert Workspace.from_config().name == "testing"
            stop_server(str(home))
    finally:
        stranger.kill()
        stranger.wait()
    run.complete()


def test_reused_pid_of_an_agent_is_not_killed(home: Path, project: Path, workspace: Workspace) -> None:
    run = submit(workspace, project, "import time\nprint('x', flush=True)\ntime.sleep(3)")
    lock = home / "work" / run.id / "node_0" / "agent.lock"
    wait_until(lambda: run.get_status() == "Running")
    holder = json.loads(lock.read_text())
    stranger = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"], env={"PATH": os.environ["PATH"]}
    )
    try:
        os.kill(holder["pid"], signal.SIGKILL)
        with lock.open("r+") as file:
            file.write(json.dumps({**holder, "pid": stranger.pid}))
        assert finish(run).get_status() == "Completed"
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_runs_of_a_deleted_home_end(folder: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service would run for ever."""
    home = folder / "home"
    monkeypatch.setenv("FOOTPLATE_HOME", str(home))
    told = folder / "pid"
    script = f"""
        import os, time
        open("{told}.part", "w").write(str(os.getpid()))
        os.rename("{told}.part", "{told}")
        time.sleep(3600)
    """
    submit(Workspace.create("deleted", exist_ok=True), project, script)
    wait_until(told.exists)
    rank = int(told.read_text())

    def is_deleted() -> bool:
        shutil.rmtree(home, ignore_errors=True)  # a server that still runs may write into it
        return not home.exists()

    wait_until(is_deleted)
    wait_until(lambda: not Path(f"/proc/{rank}").exists())


def test_clock_that_goes_back_does_not_change_the_order(folder: Path) -> None:
    """Order comes from numbers that only grow; times are for people."""
    store = Storage.open(folder)
    try:
        workspace = WorkspaceService(store).create("clock", "s", "g").id
        for number, created in enumerate([1000.0, 900.0, 5000.0, 10.0]):
            spec = RunSpec(experiment="e", kind="interactive")
            store.runs.create(RunRecord(f"r{number}", workspace, spec, Stage.RUNNING, created), "me", [])
        listed, cursor = store.runs.list(RunQuery(workspace, limit=3))
        rest, _ = store.runs.list(RunQuery(workspace, limit=3, cursor=cursor))
        assert [view.id for view in [*listed, *rest]] == ["r3", "r2", "r1", "r0"]
    finally:
        store.close()


def test_home_whose_path_is_a_file_is_an_error(folder: Path) -> None:
    (folder / "home").write_text("not a folder")
    with pytest.raises(FootplateError, match="is not a folder") as refusal:
        connect(str(folder / "home"))
    assert "FOOTPLATE_HOME" in (refusal.value.hint or "")


def test_sources_may_have_odd_names(workspace: Workspace, project: Path) -> None:
    source = write_source(project, "import os\nprint(sorted(os.listdir('.')))")
    for name in ("sp ace", "new\nline", "quo'te", os.fsdecode(b"not-utf8-\xff")):
        (source / name).write_text(name.encode("utf-8", "surrogateescape").hex())
    run = finish(submit(workspace, project, "import os\nassert len(os.listdir('.')) == 7, os.listdir('.')"))
    assert run.get_status() == "Completed", run.get_details()
