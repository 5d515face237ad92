"""A restarted run keeps its id, metrics, logs and outputs, and knows the number of its attempt."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from azureml.data.datapath import DataPath
from azureml.train.estimator import Estimator
from footplate import Experiment, Run, ScriptRunConfig, Workspace
from footplate.sdk.config.run_configuration import PyTorchConfiguration
from footplate.sdk.exceptions import AzureMLException
from footplate.testing.waiting import wait_until
from support.ops_tools import bytes_of, finish, send_agent, submit, write_source

RESUMES = """
    import os, sys
    from azureml.core import Run
    run, attempt = Run.get_context(), os.environ["FOOTPLATE_ATTEMPT"]
    done = int(open("outputs/checkpoint.txt").read()) if os.path.exists("outputs/checkpoint.txt") else 0
    for step in range(done, done + 3):
        run.log("loss", 1.0 / (step + 1))
        print("step", step, flush=True)
        with open("logs/own.txt", "a") as own:
            own.write(f"own {step}\\n")
        with open("outputs/checkpoint.txt", "w") as checkpoint:
            checkpoint.write(str(step + 1))
    open(f"outputs/only_{attempt}.txt", "w").write(attempt)
    run.upload_file("report.txt", "outputs/checkpoint.txt")
    sys.exit(0 if step >= 5 else 3)
"""


def marks(log: bytes) -> list[str]:
    """Return the lines of a log, without the time in lines that mark an attempt."""
    lines = log.decode().splitlines()
    return [line.split(" · ")[0] if line.startswith("──── ") else line for line in lines]


def test_failed_run_continues_where_it_stopped(home: Path, workspace: Workspace, project: Path, tmp_path: Path) -> None:
    run = finish(submit(workspace, project, RESUMES))
    assert (run.get_status(), run.attempt) == ("Failed", 1)
    run.restart("it was only half done")
    assert run.attempt == 2
    finish(run)
    assert run.get_status() == "Completed", run.get_details()
    assert run.get_metrics()["loss"] == [1.0 / (step + 1) for step in range(6)]
    log = marks(bytes_of(run, "user_logs/std_log.txt", tmp_path))
    assert log == ["step 0", "step 1", "step 2", "──── attempt 2", "step 3", "step 4", "step 5"]
    assert bytes_of(run, "logs/own.txt", tmp_path).decode().split("\n")[:-1] == [f"own {step}" for step in range(6)]
    assert bytes_of(run, "outputs/checkpoint.txt", tmp_path) == b"6"
    assert bytes_of(run, "report.txt", tmp_path) == b"6"
    assert {"outputs/only_1.txt", "outputs/only_2.txt"} <= set(run.get_file_names())
    told = [line.text for line in run.story()]
    assert any("restart requested by" in text and "half done" in text for text in told)
    assert "attempt 2 begins" in told
    wait_until(lambda: not (home / "work" / run.id).exists())


def test_unsuitable_runs_are_not_restarted(workspace: Workspace, project: Path) -> None:
    completed = finish(submit(workspace, project, "print(1)"))
    with pytest.raises(AzureMLException, match="has completed"):
        completed.restart()
    interactive = Experiment(workspace, "ops").start_logging()
    with pytest.raises(AzureMLException, match="interactive"):
        interactive.restart()
    interactive.complete()


def test_canceled_run_is_restarted(workspace: Workspace, project: Path) -> None:
    run = submit(workspace, project, "import os, time\nif os.environ['FOOTPLATE_ATTEMPT'] == '1': time.sleep(60)")
    wait_until(lambda: run.get_status() == "Running")
    with pytest.raises(AzureMLException, match="only a run that has ended"):
        run.restart()
    run.cancel()
    finish(run)
    run.restart()
    finish(run)
    assert (run.get_status(), run.attempt) == ("Completed", 2)


LOSES_ITS_AGENT = """
    import os, signal, time
    from azureml.core import Run
    attempt = os.environ["FOOTPLATE_ATTEMPT"]
    print("here is attempt", attempt, flush=True)
    Run.get_context().log("attempt", int(attempt))
    if attempt == "1":
        with open("outputs/checkpoint.txt", "w") as checkpoint:
            checkpoint.write("from one")
        open("READY", "w").close()
        time.sleep(300)
    assert open("outputs/checkpoint.txt").read() == "from one"
"""


def test_lost_node_is_retried_and_finds_its_checkpoint(
    home: Path, workspace: Workspace, project: Path, tmp_path: Path
) -> None:
    """The agent is killed until the server gives it up; only the next attempt can save the files in its folder."""
    config = ScriptRunConfig(str(write_source(project, LOSES_ITS_AGENT)), "train.py")
    config.run_config.max_attempts = 2
    run = Experiment(workspace, "ops").submit(config)
    first = home / "work" / run.id / "node_0"
    wait_until((first / "wd" / "READY").exists)
    kill_agents_until_lost(home, run)
    finish(run)
    assert (run.get_status(), run.attempt) == ("Completed", 2), run.get_details()
    assert run.get_metrics()["attempt"] == [1, 2]
    log = marks(bytes_of(run, "user_logs/std_log.txt", tmp_path))
    assert log == ["here is attempt 1", "──── attempt 2", "here is attempt 2"]
    assert bytes_of(run, "outputs/checkpoint.txt", tmp_path) == b"from one"
    assert any("attempt 2 begins by itself" in line.text for line in run.story())
    wait_until(lambda: not (home / "work" / run.id).exists())


def test_gang_that_loses_a_node_is_retried(home: Path, workspace: Workspace, project: Path) -> None:
    """One killed agent is enough: the other node cannot continue without it."""
    job = PyTorchConfiguration("Gloo", node_count=2)
    script = LOSES_ITS_AGENT.replace('"READY"', '"READY_" + os.environ["RANK"]')
    source = str(write_source(project, script))
    config = ScriptRunConfig(source, "train.py", distributed_job_config=job)
    config.run_config.max_attempts = 2
    run = Experiment(workspace, "ops").submit(config)
    shared = home / "work" / run.id / "node_0" / "wd"
    wait_until(lambda: run.get_status() == "Running" and len(list(shared.glob("READY_*"))) == 2)
    holder = json.loads((home / "work" / run.id / "node_1" / "agent.lock").read_text())
    os.kill(int(holder["pid"]), signal.SIGKILL)
    finish(run)
    assert (run.get_status(), run.attempt) == ("Completed", 2), run.get_details()
    assert sorted(run.get_metrics()["attempt"]) == [1, 1, 2, 2]


@pytest.mark.parametrize("nodes", [1, 2])
def test_restart_by_hand_finds_the_files_of_a_lost_node(
    home: Path, workspace: Workspace, project: Path, tmp_path: Path, nodes: int
) -> None:
    """Its ranks ignore SIGTERM: the replacement of the killed agent is killed as well, before it has saved anything."""
    script = LOSES_ITS_AGENT.replace(
        "time.sleep(300)", "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(300)"
    )
    job = PyTorchConfiguration("Gloo", node_count=nodes) if nodes > 1 else None
    run = submit(workspace, project, script, distributed_job_config=job)
    wait_until((home / "work" / run.id / "node_0" / "wd" / "READY").exists)
    wait_until(lambda: run.get_status() == "Running")

    def killed_until_lost() -> bool:
        send_agent(home, run, signal.SIGKILL)
        return run.get_status() == "Failed"

    wait_until(killed_until_lost, 120.0)
    time.sleep(4)  # a person takes longer than the cleanup after a run
    run.restart()
    finish(run)
    assert (run.get_status(), run.attempt) == ("Completed", 2), run.get_details()
    assert sorted(run.get_metrics()["attempt"]) == sorted([1, 2] * nodes)
    name = "user_logs/std_log.txt" if nodes == 1 else "user_logs/std_log_process_00.txt"
    assert marks(bytes_of(run, name, tmp_path)) == ["here is attempt 1", "──── attempt 2", "here is attempt 2"]
    assert bytes_of(run, "outputs/checkpoint.txt", tmp_path) == b"from one"
    wait_until(lambda: not (home / "work" / run.id).exists())


def kill_agents_until_lost(home: Path, run: Run) -> None:
    def kill() -> bool:
        run.get_status()
        if run.attempt == 1:
            send_agent(home, run, signal.SIGKILL)
        return run.attempt > 1

    wait_until(kill, 60.0)


GOES_ON = """
    import argparse, os
    from azureml.core import Run
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--resume-from")
    given = parser.parse_args()
    with open(os.path.join(given.resume_from, "epoch.txt")) as checkpoint:
        Run.get_context().log("epoch", int(checkpoint.read()) + given.epochs)
"""


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("asked_by", ["ScriptRunConfig", "Estimator"])
def test_new_run_resumes_from_a_folder_in_a_datastore(
    workspace: Workspace, project: Path, tmp_path: Path, asked_by: str
) -> None:
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "epoch.txt").write_text("41")
    store = workspace.get_default_datastore()
    store.upload(str(tmp_path / "checkpoint"), "models/last", show_progress=False)
    source, last = str(write_source(project, GOES_ON)), DataPath(store, "models/last")
    if asked_by == "Estimator":
        parameters: dict[str, Any] = {"compute_target": "local", "user_managed": True, "use_gpu": True}
        config: Any = Estimator(
            source, entry_script="train.py", script_params={"--epochs": 1}, resume_from=last, **parameters
        )
        assert config.run_config.needs_gpus
    else:
        config = ScriptRunConfig(source, "train.py", ["--epochs", 1], resume_from=last)
    run = finish(Experiment(workspace, "ops").submit(config))
    assert run.get_status() == "Completed", run.get_details()
    assert run.get_metrics()["epoch"] == 42
