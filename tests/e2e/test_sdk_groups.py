"""Groups: the server submits the children, each once, and ends the parent with them, also when it is killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from footplate import Experiment, Run, ScriptRunConfig, Workspace
from footplate.sdk.exceptions import AzureMLException
from footplate.testing.waiting import wait_until
from support.ops_tools import finish, kill_server, write_source

pytestmark = pytest.mark.shared_home

SCRIPT = """
    import os, sys, time
    word = sys.argv[1]
    if word == "wait":
        while not os.path.exists(sys.argv[2]):
            time.sleep(0.02)
    sys.exit(3 if word == "fail" else 0)
"""


def child(project: Path, *arguments: object) -> ScriptRunConfig:
    return ScriptRunConfig(str(write_source(project, SCRIPT)), "train.py", [str(a) for a in arguments])


def statuses(group: Run) -> dict[str, str]:
    return {run.id: run.get_status() for run in group.get_children()}


def test_a_killed_server_resumes_a_group(home: Path, workspace: Workspace, project: Path, tmp_path: Path) -> None:
    go = tmp_path / "go"
    configs = {f"c{n}": child(project, "wait", go) for n in range(3)}
    group = Experiment(workspace, "ops").start_group(configs, tags={"why": "test"})
    kill_server(home)
    wait_until(lambda: len(list(group.get_children())) == 3)
    kill_server(home)
    go.write_text("")
    finish(group)
    assert group.get_status() == "Completed", group.get_details()
    assert statuses(group) == {f"{group.id}_c{n}": "Completed" for n in range(3)}
    for run in group.get_children():
        assert [line.event for line in run.story()].count("RunSubmitted") == 1
        assert run.attempt == 1


def test_a_group_is_open_until_its_block_ends(workspace: Workspace, project: Path) -> None:
    with Experiment(workspace, "ops").start_group(name="sizes") as group:
        run = finish(group.submit_child(child(project, "ok")))
        assert run.get_status() == "Completed"
        assert group.get_status() == "Running"
    finish(group)
    assert group.get_status() == "Completed"
    with pytest.raises(AzureMLException, match="takes no more children"):
        group.submit_child(child(project, "ok"))


def test_a_group_fails_with_a_child_and_restarts_it(workspace: Workspace, project: Path) -> None:
    group = finish(Experiment(workspace, "ops").start_group([child(project, "ok"), child(project, "fail")]))
    assert group.get_status() == "Failed"
    assert "1 of 2 children failed" in group.get_details()["error"]["error"]["message"]
    group.restart()
    finish(group)
    assert group.attempt == 2
    assert {run.id: run.attempt for run in group.get_children()} == {f"{group.id}_0": 1, f"{group.id}_1": 2}


def test_cancel_ends_a_group_after_its_children(workspace: Workspace, project: Path, tmp_path: Path) -> None:
    group = Experiment(workspace, "ops").start_group([child(project, "wait", tmp_path / "never")] * 2)
    wait_until(lambda: list(statuses(group).values()) == ["Running", "Running"])
    group.cancel()
    finish(group)
    assert group.get_status() == "Canceled"
    assert list(statuses(group).values()) == ["Canceled", "Canceled"]


def test_a_child_that_cannot_run_is_refused_with_the_group(workspace: Workspace, project: Path) -> None:
    bad = child(project, "ok")
    bad.run_config.target = "nowhere"
    with pytest.raises(AzureMLException, match="nowhere"):
        Experiment(workspace, "ops").start_group([bad])


def test_a_restart_policy_covers_exit_codes(workspace: Workspace, project: Path) -> None:
    config = child(project, "fail")
    config.run_config.restart_causes = ["exit_code"]
    config.run_config.max_attempts = 2
    config.run_config.restart_backoff_seconds = 0.1
    run = finish(Experiment(workspace, "ops").submit(config))
    assert (run.get_status(), run.attempt) == ("Failed", 2)
    assert any("pause of 0.1 s" in line.text for line in run.story())
