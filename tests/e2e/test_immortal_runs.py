"""Runs that survive: ./checkpoints is saved while they run, and the next attempt resumes with one curve."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import Any

from footplate import Experiment, Run, ScriptRunConfig, Workspace
from footplate.testing.waiting import wait_until
from support.ops_tools import finish, kill_server, send_agent, write_source

TRAIN = """
    import json, os, sys, time
    from azureml.core import Run
    run, attempt, gate = Run.get_context(), int(os.environ["FOOTPLATE_ATTEMPT"]), sys.argv[1]
    folder = os.environ["FOOTPLATE_CHECKPOINTS"]
    os.makedirs("checkpoints", exist_ok=True)
    assert os.path.samefile(folder, "checkpoints")
    print("attempt", attempt, "finds", sorted(os.listdir(folder)), flush=True)
    state = os.path.join(folder, "state.json")
    first = json.load(open(state))["next"] if os.path.exists(state) else 0
    open(f"{gate}.pid_{attempt}", "w").write(str(os.getpid()))
    while not os.path.exists(gate):
        time.sleep(0.02)
    for step in range(first, 6):
        run.log("loss", step + attempt / 10, step=step)
        run.log("free", attempt)
        if step == 2:
            with open(state, "w") as file:
                json.dump({"next": 2}, file)
        if step == 4 and attempt == 1:
            while not os.path.exists(gate + ".saved"):
                time.sleep(0.02)
            with open(os.path.join(folder, "half.pt"), "w") as half:
                half.write("half of a check")
                half.flush()
                print("half written", flush=True)
                time.sleep(600)
"""


def submit(workspace: Workspace, project: Path, script: str, gate: Path, **settings: Any) -> Run:
    source = str(write_source(project, script))
    config = ScriptRunConfig(source_directory=source, script="train.py", arguments=[str(gate)])
    for name, value in settings.items():
        setattr(config.run_config, name, value)
    return Experiment(workspace, "immortal").submit(config)


def log_of(run: Run) -> str:
    return run.get_details_with_logs()["logFiles"].get("user_logs/std_log.txt", "")


def test_a_killed_run_resumes_from_its_checkpoint_with_one_curve(
    home: Path, workspace: Workspace, project: Path, tmp_path: Path, footplate: Any
) -> None:
    """The server dies before the checkpoint is saved, and the script in the middle of writing the next one."""
    gate = tmp_path / "gate"
    run = submit(workspace, project, TRAIN, gate, max_attempts=2, restart_causes=["signal", "out_of_memory"])
    wait_until(lambda: "attempt 1 finds []" in log_of(run))
    kill_server(home)
    gate.touch()
    wait_until(lambda: "checkpoints/state.json" in run.get_file_names())
    Path(f"{gate}.saved").touch()
    wait_until(lambda: "half written" in log_of(run))
    os.kill(int(Path(f"{gate}.pid_1").read_text()), signal.SIGKILL)
    finish(run)
    assert (run.get_status(), run.attempt) == ("Completed", 2), run.get_details().get("error")
    assert "attempt 2 finds ['state.json']" in log_of(run)
    assert run.get_metrics()["loss"] == [0.1, 1.1, 2.2, 3.2, 4.2, 5.2]
    assert run.get_metrics()["free"] == [1, 1, 1, 1, 1, 2, 2, 2, 2]
    assert re.search(r"checkpoints +1 file, 11 B, saved", footplate("runs", "show", run.id).stdout)
    starts = {series["name"]: series["attempts"] for series in footplate.json("runs", "metrics", run.id)}
    assert starts == {"loss": [[2, 2]], "free": [[2, 5]]}


SAVES_ON_WARNING = """
    import os, signal, sys, time
    from pathlib import Path
    from azureml.core import Run
    run, state = Run.get_context(), Path("checkpoints/state.txt")
    first = int(state.read_text()) if state.exists() else 0
    print("begins at step", first, flush=True)
    for step in range(first, 2 if first == 0 else 4):
        run.log("loss", step, step=step)
    def save(*_):
        state.parent.mkdir(exist_ok=True)
        state.write_text("2")
        sys.exit(1)
    if first == 0:
        signal.signal(signal.SIGUSR1, save)
        while True:
            time.sleep(0.1)
"""


def test_a_run_that_is_warned_of_its_limit_saves_and_resumes(
    workspace: Workspace, project: Path, tmp_path: Path
) -> None:
    """The warning comes at once, but not before the script handles the signal."""
    limits = {"max_run_duration_seconds": 600, "warning_seconds": 599.9, "warning_signal": "SIGUSR1"}
    run = submit(
        workspace, project, SAVES_ON_WARNING, tmp_path, max_attempts=2, restart_causes=["time_limit"], **limits
    )
    finish(run)
    assert (run.get_status(), run.attempt) == ("Completed", 2), run.get_details().get("error")
    assert run.get_metrics()["loss"] == [0, 1, 2, 3]
    log = log_of(run)
    assert re.search(r"begins at step 0\n──── the time limit is near: SIGUSR1 .*\n(.*\n)*begins at step 2\n", log), log


def test_an_agent_that_gets_sigterm_saves_and_names_the_reason(
    home: Path, workspace: Workspace, project: Path, tmp_path: Path
) -> None:
    """A script that handles SIGTERM writes its last checkpoint, which `restart` restores."""
    script = """
        import os, signal, sys, time
        from pathlib import Path
        os.makedirs("checkpoints", exist_ok=True)
        print("finds", sorted(os.listdir("checkpoints")), flush=True)
        def save(*_):
            Path("checkpoints/last.txt").write_text("saved at the end")
            sys.exit(1)
        signal.signal(signal.SIGTERM, save)
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.02)
    """
    gate = tmp_path / "gate"
    run = submit(workspace, project, script, gate)
    wait_until(lambda: "finds []" in log_of(run))
    send_agent(home, run, signal.SIGTERM)
    finish(run)
    assert run.get_status() == "Failed"
    assert "not by Footplate" in run.get_details()["error"]["error"]["message"]
    gate.touch()
    run.restart()
    finish(run)
    assert run.get_status() == "Completed"
    assert "finds ['last.txt']" in log_of(run)


REPLACES = """
    import os, sys, time
    state = "checkpoints/state.txt"
    print("finds", open(state).read() if os.path.exists(state) else "nothing", flush=True)
    if os.environ["FOOTPLATE_ATTEMPT"] == "2":
        sys.exit()
    os.makedirs("checkpoints")
    for step in range(6):
        with open(state + ".new", "w") as file:
            file.write(f"step {step}")
        os.replace(state + ".new", state)
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.02)
    with open("checkpoints/half.txt", "w") as file:
        file.write("half of a ")
        file.flush()
        os._exit(3)
"""


def test_a_run_that_dies_after_it_replaced_a_file_resumes_there(
    workspace: Workspace, project: Path, tmp_path: Path
) -> None:
    """Five files take the place of the first within a moment, and nobody has looked since."""
    gate = tmp_path / "gate"
    run = submit(workspace, project, REPLACES, gate, max_attempts=2, restart_causes=["exit_code"])
    wait_until(lambda: "checkpoints/state.txt" in run.get_file_names())
    gate.touch()
    finish(run)
    assert (run.get_status(), run.attempt) == ("Completed", 2), run.get_details().get("error")
    assert "finds step 5" in log_of(run)
    assert "checkpoints/half.txt" not in run.get_file_names()
