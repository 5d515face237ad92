"""Helpers for failure tests: runs to break, ways to break them, and checks of what must be intact afterwards."""

from __future__ import annotations

import json
import os
import signal
import textwrap
from pathlib import Path
from typing import Any

from footplate import Experiment, Run, ScriptRunConfig, Workspace


def write_source(project: Path, script: str) -> Path:
    folder = project / "source"
    folder.mkdir(exist_ok=True)
    (folder / "train.py").write_text(textwrap.dedent(script))
    return folder


def submit(workspace: Workspace, project: Path, script: str, **options: Any) -> Run:
    config = ScriptRunConfig(source_directory=str(write_source(project, script)), script="train.py", **options)
    return Experiment(workspace, "ops").submit(config)


def finish(run: Run) -> Run:
    run.wait_for_completion(raise_on_error=False, wait_post_processing=True)
    return run


def bytes_of(run: Run, name: str, tmp_path: Path) -> bytes:
    target = tmp_path / "downloaded"
    run.download_file(name, str(target))
    return target.read_bytes()


def server_pid(home: Path) -> int:
    return int(json.loads((home / "server.json").read_text())["pid"])


def kill_server(home: Path) -> None:
    try:
        os.kill(server_pid(home), signal.SIGKILL)
    except (ProcessLookupError, FileNotFoundError):
        pass


def agent_pid(home: Path, run: Run) -> int | None:
    """Return the pid of the agent of the run's only node; None before it starts and after it exits."""
    try:
        return int(json.loads((home / "work" / run.id / "node_0" / "agent.lock").read_text())["pid"])
    except (OSError, ValueError, KeyError):
        return None


def send_agent(home: Path, run: Run, number: int) -> None:
    pid = agent_pid(home, run)
    if pid is not None:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def resident(pid: int, what: str = "VmRSS") -> int:
    """Return the resident bytes; `VmHWM` is their peak."""
    rows = (line.split() for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return next(int(row[1]) * 1024 for row in rows if row and row[0] == f"{what}:")
