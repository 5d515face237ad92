"""GPUs assigned to real runs, on a machine with a fake nvidia-smi that lists two devices."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from footplate import Experiment, PyTorchConfiguration, Run, ScriptRunConfig, Workspace
from footplate.testing.waiting import wait_until
from support.ops_tools import agent_pid, bytes_of, finish, send_agent, submit, write_source

SMI = """#!/bin/sh
for gpu in {gpus}; do
    case "$1" in
    *uuid*) echo "$gpu, GPU-fake-$gpu, Fake, 1024" ;;
    *) echo "$gpu, $((50 - 40 * gpu)), $((512 - 256 * gpu)), 1024" ;;
    esac
done
"""
TELLS = """
    import os, time
    print(os.environ.get("CUDA_VISIBLE_DEVICES"), os.environ.get("FOOTPLATE_GPUS"), flush=True)
    until = time.monotonic() + float(os.environ.get("SECONDS", "0"))
    while time.monotonic() < until and not os.path.exists(os.environ.get("GO", "/nowhere")):
        time.sleep(0.02)
"""


@pytest.fixture(autouse=True)
def two_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the fake on the PATH of the server, which the first request starts, and so of its agents."""
    pretend(tmp_path, 2)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.fixture
def four_gpus(tmp_path: Path, two_gpus: None) -> None:
    pretend(tmp_path, 4)


def pretend(tmp_path: Path, gpus: int) -> None:
    program = tmp_path / "bin" / "nvidia-smi"
    program.parent.mkdir(exist_ok=True)
    program.write_text(SMI.format(gpus=" ".join(map(str, range(gpus)))))
    program.chmod(0o755)


def start(workspace: Workspace, project: Path, gpus: int | None = None, **variables: str) -> Run:
    config = ScriptRunConfig(str(write_source(project, TELLS)), "train.py")
    config.run_config.gpus = gpus
    config.run_config.environment_variables = variables
    return Experiment(workspace, "gpus").submit(config)


def said(run: Run, tmp_path: Path, log: str = "user_logs/std_log.txt") -> str:
    return bytes_of(run, log, tmp_path).decode().strip()


def test_concurrent_runs_never_share_a_gpu(workspace: Workspace, project: Path, tmp_path: Path) -> None:
    go = tmp_path / "go"
    held = {"SECONDS": "3600", "GO": str(go)}
    first, second = (start(workspace, project, 1, **held) for _ in range(2))
    wait_until(lambda: {first.get_status(), second.get_status()} == {"Running"})
    third = start(workspace, project, 1)
    wait_until(lambda: "it needs 1 GPU and 2 of 2 are used by" in third.get_detailed_status()["details"])
    assert first.id in third.get_detailed_status()["details"]
    assert third.get_status() == "Queued", "it has no node that another run could use"
    plain = finish(start(workspace, project))
    assert said(plain, tmp_path) == "", "it asked for none, none was free, and it did not wait"
    own = finish(start(workspace, project, CUDA_VISIBLE_DEVICES="7"))
    assert said(own, tmp_path) == "7 None"
    go.touch()
    for run in (first, second, third):
        assert finish(run).get_status() == "Completed", run.get_details()
    assert {said(first, tmp_path), said(second, tmp_path)} == {"0 0", "1 1"}
    assert said(third, tmp_path) in ("0 0", "1 1")


def test_ranks_share_the_gpus_of_the_run_and_know_their_own(
    workspace: Workspace, project: Path, tmp_path: Path
) -> None:
    run = finish(submit(workspace, project, TELLS, distributed_job_config=PyTorchConfiguration("Nccl", 2)))
    assert run.get_status() == "Completed", run.get_details()
    logs = [said(run, tmp_path, f"user_logs/std_log_process_0{rank}.txt") for rank in (0, 1)]
    assert logs == ["0,1 0", "0,1 1"]
    (node,) = run._refresh().nodes  # pyright: ignore[reportPrivateUsage]
    assert node.info["gpus"] == 2
    assert [device["name"] for device in node.info["gpu_devices"]] == ["Fake", "Fake"]


def test_requesting_more_gpus_than_exist_is_an_error(workspace: Workspace, project: Path) -> None:
    run = finish(start(workspace, project, 3))
    error = run.get_details()["error"]["error"]
    assert "needs 3 GPUs, and" in error["message"]
    assert "has 2" in error["message"]


def test_nccl_without_gpus_suggests_gloo(
    workspace: Workspace, project: Path, monkeypatch: pytest.MonkeyPatch, two_gpus: None
) -> None:
    run = finish(submit(workspace, project, TELLS, distributed_job_config=PyTorchConfiguration("Nccl", 4)))
    view = run._refresh()  # pyright: ignore[reportPrivateUsage]
    assert view.outcome is not None
    assert view.outcome.cause is not None
    assert "NCCL needs one for each process" in view.outcome.cause.message
    assert "Gloo" in (view.outcome.cause.hint or "")


def test_gpu_series_are_recorded_with_the_run(workspace: Workspace, project: Path) -> None:
    run = finish(start(workspace, project, 1, SECONDS="3"))
    series = run._session.api.metrics.read(run.id, system=True)[run.id]  # pyright: ignore[reportPrivateUsage]
    found = {each.name: each.points[0][2] for each in series if "gpu_" in each.name}
    assert found == {
        "system/node_0/gpu_0_percent": 50.0,
        "system/node_0/gpu_0_memory_used_bytes": 512.0 * 2**20,
        "system/node_0/gpu_0_memory_percent": 50.0,
    }


def test_two_nodes_of_one_machine_get_one_gpu_each(workspace: Workspace, project: Path, tmp_path: Path) -> None:
    run = finish(submit(workspace, project, TELLS, distributed_job_config=PyTorchConfiguration("Nccl", 2, 2)))
    assert run.get_status() == "Completed", run.get_details()
    logs = [said(run, tmp_path, f"user_logs/std_log_process_0{rank}.txt") for rank in (0, 1)]
    assert logs == ["0 0", "1 1"]


def ranks_of(run: Run, tmp_path: Path, count: int) -> list[str]:
    assert finish(run).get_status() == "Completed", run.get_details()
    return [said(run, tmp_path, f"user_logs/std_log_process_{rank:02}.txt") for rank in range(count)]


@pytest.mark.usefixtures("four_gpus")
def test_four_gpus_are_divided_between_two_nodes(workspace: Workspace, project: Path, tmp_path: Path) -> None:
    even = submit(workspace, project, TELLS, distributed_job_config=PyTorchConfiguration("Nccl", 4, 2))
    assert ranks_of(even, tmp_path, 4) == ["0,1 0", "0,1 1", "2,3 2", "2,3 3"]
    uneven = submit(workspace, project, TELLS, distributed_job_config=PyTorchConfiguration("Nccl", 3, 2))
    assert ranks_of(uneven, tmp_path, 3) == ["0,1 0", "0,1 1", "2 2"]


@pytest.mark.usefixtures("four_gpus")
def test_more_ranks_than_gpus_is_a_warning_and_for_nccl_an_error(
    workspace: Workspace, project: Path, tmp_path: Path
) -> None:
    shared = submit(workspace, project, TELLS, distributed_job_config=PyTorchConfiguration("Gloo", 6, 2))
    assert ranks_of(shared, tmp_path, 6) == ["0,1 0", "0,1 1", "0,1 0", "2,3 2", "2,3 3", "2,3 2"]
    assert "fewer GPUs than processes" in shared.get_details()["warnings"][0]["message"]
    refused = finish(submit(workspace, project, TELLS, distributed_job_config=PyTorchConfiguration("Nccl", 6, 2)))
    assert "NCCL needs one for each process" in refused.get_details()["error"]["error"]["message"]


def test_killed_agent_does_not_free_the_gpus_of_its_ranks(
    home: Path, workspace: Workspace, project: Path, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    first = start(workspace, project, 2, SECONDS="120", GO=str(go))
    wait_until(lambda: first.get_status() == "Running")
    agent = agent_pid(home, first)
    second = start(workspace, project, 1)
    send_agent(home, first, signal.SIGKILL)
    wait_until(lambda: agent_pid(home, first) not in (None, agent))
    wait_until(lambda: f"it needs 1 GPU and 2 of 2 are used by {first.id}" in second.get_detailed_status()["details"])
    assert first.get_status() == "Running"
    go.touch()
    assert finish(first).get_status() == finish(second).get_status() == "Completed"
    ended = next(line.time for line in first.story() if line.event == "NodeExited")
    began = next(line.time for line in second.story() if line.event == "NodeStarted")
    assert began >= ended
    assert not any(path.read_bytes() for path in (home / "gpus").iterdir()), "all are given back"
