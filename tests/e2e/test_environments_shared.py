"""One environment for many runs: built once, complete or not at all."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from footplate import (
    AmlCompute,
    ComputeTarget,
    CondaDependencies,
    Environment,
    Experiment,
    Run,
    ScriptRunConfig,
    Workspace,
)
from footplate.testing.waiting import wait_until
from support.wheels import make_wheel

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")
    return tmp_path / "wheels"


def logs_of(run: Run) -> str:
    name = "azureml-logs/20_image_build_log.txt"
    return b"".join(run._session.api.files.read(run.id, name)).decode() if name in run.get_file_names() else ""


def heavy(wheels: Path) -> Environment:
    """Return an environment whose build takes a while: a thousand modules to compile."""
    body = "\n".join(f"def f{n}(a, b={n}):\n    return [a + b for a in range({n})]" for n in range(30))
    make_wheel(wheels, "heavy", "1.0", files={f"heavy/m{n}.py": body for n in range(1000)} | {"heavy/__init__.py": ""})
    made = Environment("heavy")
    made.python.conda_dependencies = CondaDependencies.create(python_version=PYTHON, pip_packages=["heavy"])
    return made


@pytest.mark.slow
def test_twenty_runs_build_once_and_the_others_wait(
    wheels: Path, project: Path, workspace: Workspace, home: Path
) -> None:
    (project / "train.py").write_text("import heavy.m7; print(heavy.m7.f3(1)[:2])\n")
    settings = AmlCompute.provisioning_configuration(vm_size="STANDARD_D2_V2", max_nodes=20)
    target = ComputeTarget.create(workspace, "many", settings)
    config = ScriptRunConfig(".", "train.py", environment=heavy(wheels), compute_target=target)
    runs = [Experiment(workspace, "many").submit(config) for _ in range(20)]
    for run in runs:
        run.wait_for_completion(raise_on_error=True)
    logs = [logs_of(run) for run in runs]
    assert sum("the environment is complete" in text for text in logs) == 1
    waiting = [text for text in logs if "waiting: another process is building this environment" in text]
    assert len(waiting) >= 5, logs
    stories = [line.text for run in runs for line in run.story()]
    assert any("waiting: another process is building this environment" in text for text in stories), stories
    assert len([name for name in os.listdir(home / "environments") if len(name) == 64]) == 1


@pytest.mark.slow
def test_killed_build_leaves_nothing_half_made(wheels: Path, project: Path, workspace: Workspace, home: Path) -> None:
    (project / "train.py").write_text("import heavy.m999; print('whole')\n")
    run = Experiment(workspace, "killed").submit(ScriptRunConfig(".", "train.py", environment=heavy(wheels)))
    folder = home / "work" / run.id / "node_0"
    begun = (home / "environments").glob
    wait_until(lambda: list(begun("*/lib/python3*/site-packages/heavy")), interval=0.005)
    agent = json.loads((folder / "agent.lock").read_text())["pid"]
    os.kill(agent, signal.SIGKILL)
    assert not list((home / "environments").glob("*/.footplate-complete")), "it was killed too late"
    run.wait_for_completion(raise_on_error=True)
    assert "removing an incomplete build" in logs_of(run)
    (built,) = (home / "environments").glob("*/.footplate-complete")
    assert len(list(built.parent.glob("lib/python3*/site-packages/heavy/__pycache__/*.pyc"))) == 1001
