"""Load: many clients at once, and large runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from footplate import Experiment, Workspace
from footplate.api import ApiClient
from footplate.client import connect
from support.ops_tools import bytes_of, finish, resident, server_pid, submit, write_source

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SANE = 400 << 20
"""Upper limit of the server's memory in bytes, for all tests here."""


def all_at_once(count: int, call: Callable[[], None]) -> None:
    failures: list[BaseException] = []

    def guarded() -> None:
        try:
            call()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


def test_many_threads_run_interactive_runs(home: Path, workspace: Workspace) -> None:
    threads, each = 16, 32
    experiment = Experiment(workspace, "ops")

    def work() -> None:
        for _ in range(each):
            run = experiment.start_logging(snapshot_directory=None)
            for value in range(20):
                run.log("value", value)
            run.complete()

    all_at_once(threads, work)
    runs = list(experiment.get_runs())
    assert sorted(run.number for run in runs) == list(range(1, threads * each + 1))
    assert {run.get_status() for run in runs} == {"Completed"}
    assert all(run.get_metrics() == {"value": list(range(20))} for run in runs)
    assert not (home / "spool").exists() or not list((home / "spool").iterdir())
    assert resident(server_pid(home), "VmHWM") < SANE


def test_followers_do_not_block_others(home: Path, workspace: Workspace) -> None:
    followers = 200
    run = Experiment(workspace, "ops").start_logging(snapshot_directory=None)
    here, seen = threading.Barrier(followers + 1), list[str]()

    def follow() -> None:
        runs = ApiClient(connect()).runs
        version = runs.get(run.id).version
        here.wait(120)
        view = runs.get(run.id, version=version, wait=30)
        while view.status != "Completed":
            view = runs.get(run.id, version=view.version, wait=30)
        seen.append(view.status)

    def end() -> None:
        here.wait(120)
        run.tag("others", "go on")
        run.complete()

    ending = threading.Thread(target=end)
    ending.start()
    all_at_once(followers, follow)
    ending.join()
    assert seen == ["Completed"] * followers
    assert resident(server_pid(home), "VmHWM") < SANE


def test_much_output_arrives(home: Path, workspace: Workspace, project: Path, tmp_path: Path) -> None:
    megabytes, line = 200, 10_000_000
    script = f"""
        import sys
        for i in range({megabytes}):
            sys.stdout.write("".join(f"{{i:04d}} {{n:06d}} {{'x' * 87}}\\n" for n in range(10_000)))
        sys.stdout.write("y" * {line} + "\\n")
    """
    run = finish(submit(workspace, project, script))
    assert run.get_status() == "Completed"
    said = bytes_of(run, "user_logs/std_log.txt", tmp_path)
    lines = said.splitlines()
    assert len(lines) == megabytes * 10_000 + 1 and lines[-1] == b"y" * line
    assert all(text[:11] == b"%04d %06d" % divmod(at, 10_000) for at, text in enumerate(lines[:-1]))
    assert resident(server_pid(home), "VmHWM") < SANE


def test_many_points_and_many_names_arrive(home: Path, workspace: Workspace, project: Path) -> None:
    points, names = 1_000_000, 5_000
    script = f"""
        from azureml.core import Run
        run = Run.get_context()
        for i in range({points}):
            run.log("value", float(i))
        for i in range({names}):
            run.log(f"name{{i}}", i)
    """
    run = finish(submit(workspace, project, script))
    assert run.get_status() == "Completed"
    metrics = run.get_metrics()
    assert metrics["value"] == [float(i) for i in range(points)]
    assert [metrics[f"name{i}"] for i in range(names)] == list(range(names))
    assert resident(server_pid(home), "VmHWM") < 2 * SANE, "a million points are in memory once, as they are read"


def test_many_outputs_arrive(home: Path, workspace: Workspace, project: Path, tmp_path: Path) -> None:
    count = 10_000
    script = f"""
        for i in range({count}):
            open(f"outputs/{{i}}.txt", "w").write(str(i))
    """
    run = finish(submit(workspace, project, script))
    assert run.get_status() == "Completed"
    assert len([name for name in run.get_file_names() if name.startswith("outputs/")]) == count
    assert bytes_of(run, f"outputs/{count - 1}.txt", tmp_path) == str(count - 1).encode()
    assert resident(server_pid(home), "VmHWM") < SANE


def test_large_source_tree_can_be_submitted(workspace: Workspace, project: Path, tmp_path: Path) -> None:
    count = 20_000
    source = write_source(project, "")
    for number in range(count):
        folder = source / f"part{number // 100}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.txt").write_text(str(number))
    script = "import os\nprint(sum(len(files) for _, _, files in os.walk('.')))"
    for _ in range(2):
        run = finish(submit(workspace, project, script))
        assert run.get_status() == "Completed"
        assert bytes_of(run, "user_logs/std_log.txt", tmp_path).strip() == str(count + 1).encode()
