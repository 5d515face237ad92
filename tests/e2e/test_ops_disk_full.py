"""A full disk, on a real file system of forty megabytes: clear errors, waits that end, and an intact store."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from footplate import AzureMLException, Experiment, Run, ScriptRunConfig, Workspace
from footplate.testing.waiting import wait_until
from support.ops_tools import bytes_of, finish, kill_server, server_pid, submit, write_source

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0 or sys.platform != "linux", reason="mounting a file system needs root"),
]


class Disk:
    """The small file system under a home folder, and a file that fills it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ballast = folder / "logs" / "ballast"

    def free(self) -> int:
        disk = os.statvfs(self._folder)
        return disk.f_bavail * disk.f_frsize

    def fill(self, leave: int = 0) -> None:
        self._ballast.parent.mkdir(exist_ok=True)
        with self._ballast.open("ab", buffering=0) as file:
            try:
                while (room := self.free() - leave) > 0:
                    file.write(bytes(min(room, 1 << 16)))
            except OSError:
                assert leave == 0

    def clear(self) -> None:
        self._ballast.unlink(missing_ok=True)


@pytest.fixture
def disk(home: Path) -> Iterator[Disk]:
    mount = ["mount", "-t", "tmpfs", "-o", "size=40m,mode=0700", "footplate-test", str(home)]
    done = subprocess.run(mount, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    disk = Disk(home)
    try:
        yield disk
    finally:
        disk.clear()
        subprocess.run(["umount", "--lazy", str(home)], check=True)


@pytest.fixture
def full(disk: Disk, workspace: Workspace, home: Path, project: Path, tmp_path: Path) -> Iterator[Disk]:
    """Provide a full disk with one earlier run; at the end that run is intact, another succeeds, SQLite is valid."""
    before = finish(submit(workspace, project, "open('outputs/kept.txt', 'w').write('kept')"))
    yield disk
    disk.clear()
    after = finish(submit(workspace, project, "print('there is room again')"))
    assert after.get_status() == "Completed"
    assert bytes_of(before, "outputs/kept.txt", tmp_path) == b"kept"
    os.kill(server_pid(home), 15)
    wait_until(lambda: not (home / "socket" / "server.sock").exists())
    with sqlite3.connect(home / "footplate.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_source_folder_that_does_not_fit_is_an_error(full: Disk, workspace: Workspace, project: Path) -> None:
    source = write_source(project, "print('hello')")
    (source / "large.bin").write_bytes(os.urandom(48 << 20))
    free = full.free()
    with pytest.raises(AzureMLException, match=r"(?s)no space left.*free some disk space"):
        Experiment(workspace, "ops").submit(ScriptRunConfig(str(source), "train.py"))
    assert full.free() >= free - (64 << 10), "what was cut short is not left lying"
    (source / "large.bin").unlink()


def test_writes_fail_with_an_error_and_reads_continue(full: Disk, workspace: Workspace, home: Path) -> None:
    experiment = Experiment(workspace, "ops")
    run = next(iter(experiment.get_runs()))
    full.fill()
    with pytest.raises(AzureMLException, match=r"(?s)full.*free some space"):
        for number in range(200):  # SQLite has a little room left in its own log
            run.tag(f"tag{number}", "x" * 1000)
    assert [found.id for found in experiment.get_runs()] == [run.id]
    kill_server(home)
    assert run.get_status() == "Completed", "a server even starts on a full disk"


def test_script_that_prints_into_a_full_disk_is_reported(
    full: Disk, workspace: Workspace, project: Path, home: Path, tmp_path: Path
) -> None:
    ended = tmp_path / "ended"
    script = f"""
        import itertools, time
        from azureml.core import Run
        run = Run.get_context()
        try:
            for i in itertools.count():
                run.log("value", float(i))
                print(f"{{i:06d}}" * 200, flush=True)
                time.sleep(0.02)
        finally:
            open({str(ended)!r}, "w").close()
    """
    run = submit(workspace, project, script)
    wait_until(lambda: "user_logs/std_log.txt" in run.get_file_names())
    full.fill()
    wait_until(ended.exists)
    spent = processor_seconds(server_pid(home))
    time.sleep(2)
    assert processor_seconds(server_pid(home)) - spent < 0.5, "nobody runs in circles"
    full.clear()
    finish(run)
    assert run.get_status() == "Failed"
    error = run.get_details()["error"]["error"]
    assert "disk was full" in error["message"] or "No space left" in error["message"], error
    values = run.get_metrics()["value"]
    assert values == [float(i) for i in range(len(values))]


LARGE_OUTPUTS = """
    import os, time
    for i in range(4):
        with open(f"outputs/{i}.bin", "wb") as file:
            file.write(bytes([i]) * 1_000_000)
    open("outputs/written", "w").close()
    while not os.path.exists("go"):
        time.sleep(0.05)
"""


def submit_large_outputs(full: Disk, workspace: Workspace, project: Path, home: Path) -> tuple[Run, Path]:
    """Start a run whose outputs do not fit; return it and its outputs. The disk is full before its script ends."""
    run = submit(workspace, project, LARGE_OUTPUTS)
    wd = home / "work" / run.id / "node_0" / "wd"
    wait_until((wd / "outputs" / "written").exists)
    full.fill(leave=500_000)
    (wd / "go").touch()
    return run, wd / "outputs"


def test_outputs_wait_for_room(full: Disk, workspace: Workspace, project: Path, home: Path, tmp_path: Path) -> None:
    run, _ = submit_large_outputs(full, workspace, project, home)
    wait_until(lambda: "waiting for disk space to store the outputs" in str(run.get_details()["warnings"]))
    wait_until(lambda: "is full" in str(run.get_details()["warnings"]))  # the server reports it while it lasts
    wait_until(lambda: run.get_status() == "Finalizing")
    full.fill()  # not even the database has room any more
    full.clear()
    finish(run)
    assert run.get_status() == "Completed"
    for i in range(4):
        assert bytes_of(run, f"outputs/{i}.bin", tmp_path) == bytes([i]) * 1_000_000
    warnings = str(run.get_details()["warnings"])
    assert re.search(r"waited \d+ s for disk space to store the outputs", warnings), warnings


def test_outputs_without_room_fail_the_run_after_the_limit(
    full: Disk, workspace: Workspace, project: Path, home: Path
) -> None:
    (home / "settings.ini").write_text("[jobs]\nfull_disk_seconds = 1.5\n")
    run, outputs = submit_large_outputs(full, workspace, project, home)
    finish(run)
    assert run.get_status() == "Failed"
    error = run.get_details()["error"]["error"]
    assert "no disk space for 1.5 seconds: not stored are" in error["message"], error
    assert "outputs/3.bin" in error["message"], error
    assert str(outputs.parent) in str(error), "the hint names the only copy"
    for i in range(4):
        assert (outputs / f"{i}.bin").read_bytes() == bytes([i]) * 1_000_000
    assert "outputs/written" in run.get_file_names(), "whatever fits is stored"
