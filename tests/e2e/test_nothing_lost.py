"""Nothing is lost: real processes are killed, and everything acknowledged before is stored exactly once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from footplate import Experiment, Run, ScriptRunConfig, Workspace
from footplate.testing.waiting import wait_until
from support.ops_tools import kill_server, server_pid, submit

STEADY = """
    import os, time
    from azureml.core import Run
    run = Run.get_context()
    os.makedirs("outputs", exist_ok=True)
    for i in range(150):
        print(f"line {i}", flush=True)
        run.log("value", float(i))
        with open("logs/own.txt", "a") as own:
            own.write(f"own {i}\\n")
        time.sleep(0.02)
    with open("outputs/model.bin", "wb") as model:
        model.write(bytes(range(256)) * 4096)
"""
MODEL = bytes(range(256)) * 4096


def text_of(run: Run, name: str, tmp_path: Path) -> str:
    target = tmp_path / f"{run.id}-{name.replace('/', '_')}"
    run.download_file(name, str(target))
    return target.read_text()


def assert_all_there(run: Run, tmp_path: Path) -> None:
    assert run.get_status() == "Completed"
    assert text_of(run, "user_logs/std_log.txt", tmp_path).splitlines() == [f"line {i}" for i in range(150)]
    assert text_of(run, "logs/own.txt", tmp_path).splitlines() == [f"own {i}" for i in range(150)]
    assert run.get_metrics()["value"] == [float(i) for i in range(150)]
    run.download_file("outputs/model.bin", str(tmp_path / "model.bin"))
    assert (tmp_path / "model.bin").read_bytes() == MODEL


def test_server_killed_repeatedly_during_a_run_loses_nothing(
    home: Path, project: Path, workspace: Workspace, tmp_path: Path
) -> None:
    run = submit(workspace, project, STEADY)
    for _ in range(4):
        time.sleep(0.6)
        kill_server(home)
    run.wait_for_completion(raise_on_error=False, wait_post_processing=True)
    assert_all_there(run, tmp_path)


def test_server_killed_right_after_submission_loses_nothing(
    home: Path, project: Path, workspace: Workspace, tmp_path: Path
) -> None:
    run = submit(workspace, project, STEADY)
    kill_server(home)
    run.wait_for_completion(raise_on_error=False, wait_post_processing=True)
    assert_all_there(run, tmp_path)


def test_server_killed_after_a_run_loses_nothing(
    home: Path, project: Path, workspace: Workspace, tmp_path: Path
) -> None:
    run = submit(workspace, project, STEADY)
    run.wait_for_completion(raise_on_error=False, wait_post_processing=True)
    kill_server(home)
    assert_all_there(run, tmp_path)


def test_run_completes_with_only_its_agent_left(
    home: Path, project: Path, workspace: Workspace, tmp_path: Path
) -> None:
    """No client restarts the server here: the agent must."""
    run = submit(workspace, project, STEADY)
    wait_until(lambda: run.get_status() == "Running")
    kill_server(home)
    work = home / "work" / run.id
    wait_until(lambda: not (work / "node_0" / "wd").exists(), 60)
    run.wait_for_completion(raise_on_error=False, wait_post_processing=True)
    assert_all_there(run, tmp_path)


def test_agent_killed_during_a_run_loses_nothing(
    home: Path, project: Path, workspace: Workspace, tmp_path: Path
) -> None:
    run = submit(workspace, project, STEADY)
    wait_until(lambda: run.get_status() == "Running")
    time.sleep(0.5)
    agent = int(json.loads((home / "work" / run.id / "node_0" / "agent.lock").read_text())["pid"])
    os.kill(agent, signal.SIGKILL)
    run.wait_for_completion(raise_on_error=False, wait_post_processing=True)
    assert_all_there(run, tmp_path)


def test_agent_killed_during_a_command_loses_nothing(home: Path, project: Path, workspace: Workspace) -> None:
    (project / "source").mkdir()
    config = ScriptRunConfig(str(project / "source"), command="sleep 1.5; echo over; exit 4")
    run = Experiment(workspace, "lost").submit(config)
    wait_until(lambda: run.get_status() == "Running")
    os.kill(int(json.loads((home / "work" / run.id / "node_0" / "agent.lock").read_text())["pid"]), signal.SIGKILL)
    run.wait_for_completion(raise_on_error=False, wait_post_processing=True)
    assert run.get_status() == "Failed"
    assert "exit code 4" in json.dumps(run.get_details()["error"])
    assert run.get_details_with_logs()["logFiles"]["user_logs/std_log.txt"] == "over\n"


def _command_lines() -> dict[int, str]:
    lines: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                lines[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
    return lines


def test_metrics_logged_before_the_rank_was_killed_are_kept(project: Path, workspace: Workspace) -> None:
    run = submit(
        workspace,
        project,
        """
        import os, signal
        from azureml.core import Run
        run = Run.get_context()
        for i in range(5000):
            run.log("value", float(i))
        os.kill(os.getpid(), signal.SIGKILL)
        """,
    )
    run.wait_for_completion(raise_on_error=False, wait_post_processing=True)
    assert run.get_status() == "Failed"
    assert run.get_metrics()["value"] == [float(i) for i in range(5000)]
    assert "SIGKILL" in json.dumps(run.get_details()["error"])


def test_killed_submitter_does_not_affect_the_run(
    home: Path, project: Path, workspace: Workspace, tmp_path: Path
) -> None:
    (project / "source").mkdir()
    (project / "source" / "train.py").write_text(textwrap.dedent(STEADY))
    client = textwrap.dedent(
        """
        import os, signal, sys
        from azureml.core import Experiment, ScriptRunConfig, Workspace
        run = Experiment(Workspace.from_config(), "lost").submit(ScriptRunConfig("source", "train.py"))
        print(run.id, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    done = subprocess.run([sys.executable, "-c", client], capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr
    run = workspace.get_run(done.stdout.strip())
    run.wait_for_completion(raise_on_error=False, wait_post_processing=True)
    assert_all_there(run, tmp_path)


def test_metrics_of_a_killed_interactive_client_are_kept(home: Path, project: Path, workspace: Workspace) -> None:
    client = textwrap.dedent(
        """
        import os, signal
        from azureml.core import Experiment, Workspace
        run = Experiment(Workspace.from_config(), "lost").start_logging(snapshot_directory=None)
        print(run.id, flush=True)
        for i in range(2000):
            run.log("value", float(i))
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    done = subprocess.run([sys.executable, "-c", client], capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr
    run = workspace.get_run(done.stdout.strip())
    assert run.get_metrics()["value"] == [float(i) for i in range(2000)]


def test_server_killed_during_an_upload_loses_nothing(
    home: Path, project: Path, workspace: Workspace, tmp_path: Path
) -> None:
    run = Experiment(workspace, "lost").start_logging(snapshot_directory=None)
    contents = {f"data/{n}.bin": os.urandom(3_000_000) for n in range(12)}
    for name, content in contents.items():
        (tmp_path / Path(name).name).write_bytes(content)
    stop = threading.Event()

    def murderer() -> None:
        for _ in range(5):
            victim = server_pid(home)
            if stop.wait(0.2):
                return
            kill_server(home)
            while server_pid(home) == victim and not stop.wait(0.05):
                pass

    thread = threading.Thread(target=murderer)
    thread.start()
    try:
        for name in contents:
            run.upload_file(name, str(tmp_path / Path(name).name))
            time.sleep(0.1)
    finally:
        stop.set()
        thread.join()
    run.complete()
    assert sorted(n for n in run.get_file_names() if n.startswith("data/")) == sorted(contents)
    for name, content in contents.items():
        target = tmp_path / "back.bin"
        run.download_file(name, str(target))
        assert target.read_bytes() == content


def test_cancel_leaves_no_process_behind(home: Path, project: Path, workspace: Workspace) -> None:
    marker = f"footplate-orphan-{os.getpid()}-{time.time_ns()}"
    run = submit(
        workspace,
        project,
        f"""
        import os, subprocess, sys, time
        # a child, a child in a session of its own, and a daemon that forked twice: all ignore SIGTERM
        stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)  # {marker}"
        subprocess.Popen([sys.executable, "-c", stubborn])
        subprocess.Popen([sys.executable, "-c", stubborn], start_new_session=True)
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execv(sys.executable, [sys.executable, "-c", stubborn])
            os._exit(0)
        print("ready", flush=True)
        time.sleep(600)
        """,
        environment=None,
    )
    wait_until(lambda: sum(marker in line and "bootstrap" not in line for line in _command_lines().values()) >= 3)
    run.cancel()
    run.wait_for_completion(wait_post_processing=True)
    assert run.get_status() == "Canceled"
    assert not [line for line in _command_lines().values() if marker in line]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_hundred_concurrent_runs_all_end_correctly(project: Path, workspace: Workspace) -> None:
    script = """
        import sys
        from azureml.core import Run
        number = int(sys.argv[1])
        Run.get_context().log("number", number)
        sys.exit(3 if number % 10 == 0 else 0)
    """
    folder = project / "source"
    folder.mkdir()
    (folder / "train.py").write_text(textwrap.dedent(script))
    experiment = Experiment(workspace, "crowd")
    runs: dict[int, Run] = {}

    def submit_some(numbers: range) -> None:
        for number in numbers:
            runs[number] = experiment.submit(ScriptRunConfig(str(folder), "train.py", arguments=[number]))

    threads = [threading.Thread(target=submit_some, args=(range(start, 200, 8),)) for start in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(runs) == 200
    for number, run in runs.items():
        run.wait_for_completion(raise_on_error=False, wait_post_processing=True)
        assert run.get_status() == ("Failed" if number % 10 == 0 else "Completed"), number
        assert run.get_metrics() == {"number": number}
    assert len(list(experiment.get_runs())) == 200
    assert sorted(r.number for r in runs.values()) == list(range(1, 201))
