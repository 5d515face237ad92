"""Clusters as Azure's documents create and use them: sizes, shapes, queues."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from footplate import Workspace
from footplate.engines.local import machine_shape
from footplate.sdk.compute.targets import AmlCompute, ComputeTarget
from footplate.sdk.config.run_configuration import PyTorchConfiguration, TensorflowConfiguration
from footplate.sdk.exceptions import ComputeTargetException
from footplate.testing.waiting import wait_until
from support.ops_tools import finish, submit

pytestmark = pytest.mark.shared_home

HOLD = """
    import os, time
    while not os.path.exists({gate!r}):
        time.sleep(0.02)
"""


def cluster(workspace: Workspace, name: str = "gpu-cluster", **sizes: Any) -> Any:
    """Create a cluster with the idiom of the documents."""
    try:
        return ComputeTarget(workspace=workspace, name=name)
    except ComputeTargetException:
        wanted = AmlCompute.provisioning_configuration(**{"vm_size": "STANDARD_NC6", "max_nodes": 4, **sizes})
        made = ComputeTarget.create(workspace, name, wanted)
        made.wait_for_completion(show_output=True, min_node_count=None, timeout_in_minutes=20)
        return made


@pytest.mark.skipif(bool(machine_shape().gpus), reason="this machine has GPUs")
def test_machine_smaller_than_the_size_is_a_warning_on_the_run(workspace: Workspace, project: Path) -> None:
    run = finish(submit(workspace, project, "print(1)", compute_target=cluster(workspace)))
    assert run.get_status() == "Completed"
    words = " ".join(warning["message"] for warning in run.get_details()["warnings"])
    assert "STANDARD_NC6" in words
    assert "1 GPU (it has none)" in words


def test_unknown_size_is_a_warning_on_the_run(workspace: Workspace, project: Path) -> None:
    run = finish(submit(workspace, project, "print(1)", compute_target=cluster(workspace, vm_size="STANDRAD_NC6")))
    words = " ".join(warning["message"] for warning in run.get_details()["warnings"])
    assert "size STANDRAD_NC6, whose shape is unknown (is it STANDARD_NC6?)" in words


@pytest.mark.skipif(bool(machine_shape().gpus), reason="this machine has GPUs")
def test_exact_shapes_reject_the_run(home: Path, workspace: Workspace, project: Path) -> None:
    (home / "settings.ini").write_text("[computes]\nshapes = exact\n")
    with pytest.raises(Exception, match="does not have 1 GPU"):
        submit(workspace, project, "print(1)", compute_target=cluster(workspace))


@pytest.mark.skipif(bool(machine_shape().gpus), reason="this machine has GPUs")
def test_nccl_without_gpus_suggests_gloo(workspace: Workspace, project: Path) -> None:
    two = PyTorchConfiguration("Nccl", node_count=2)
    run = finish(submit(workspace, project, "print(1)", distributed_job_config=two))
    error = run.get_details()["error"]["error"]
    assert "NCCL" in error["message"]
    assert "Gloo" in error["hint"]


def test_status_counts_nodes_of_a_busy_cluster(workspace: Workspace, project: Path, tmp_path: Path) -> None:
    target, gate = cluster(workspace, vm_size="", min_nodes=1, max_nodes=3), tmp_path / "gate"
    assert target.get_status().serialize()["nodeStateCounts"]["idleNodeCount"] == 1
    two = PyTorchConfiguration("Gloo", node_count=2)
    hold = HOLD.format(gate=str(gate))
    first = submit(workspace, project, hold, compute_target=target, distributed_job_config=two)
    wait_until(lambda: first.get_status() == "Running")
    second = submit(workspace, project, hold, compute_target=target, distributed_job_config=two)
    wait_until(lambda: second.get_status() == "Queued")
    status = target.get_status().serialize()
    assert (status["currentNodeCount"], status["targetNodeCount"], status["allocationState"]) == (2, 2, "Steady")
    assert status["nodeStateCounts"]["runningNodeCount"] == 2
    assert "2 of 3 nodes" in second.get_detailed_status()["details"]
    target.update(max_nodes=1)
    status = target.get_status().serialize()
    assert (status["currentNodeCount"], status["targetNodeCount"], status["allocationState"]) == (2, 1, "Resizing")
    with pytest.raises(ComputeTargetException, match=f"is in use: {first.id} and 1 more have not ended"):
        target.delete()
    target.update(max_nodes=3)
    gate.touch()
    assert [finish(run).get_status() for run in (first, second)] == ["Completed", "Completed"]
    counts = target.get_status().serialize()["nodeStateCounts"]
    assert (counts["idleNodeCount"], counts["runningNodeCount"]) == (2, 0), "they stay for half an hour"
    assert [node["nodeState"] for node in target.list_nodes()] == ["idle", "idle"]
    with pytest.raises(ComputeTargetException, match="max_nodes is 'many'"):
        target.update(max_nodes="many")  # type: ignore[arg-type]
    target.update(min_nodes=0, idle_seconds_before_scaledown=0)
    assert target.get_status().current_node_count == 0
    target.delete()
    with pytest.raises(ComputeTargetException):
        target.get_status()


def test_short_run_overtakes_a_waiting_one(workspace: Workspace, project: Path, tmp_path: Path) -> None:
    target, gate = cluster(workspace, vm_size="", max_nodes=3), tmp_path / "gate"
    two = PyTorchConfiguration("Gloo", node_count=2)
    hold = HOLD.format(gate=str(gate))
    common = {"compute_target": target, "max_run_duration_seconds": 3600}
    first = submit(workspace, project, hold, distributed_job_config=two, **common)
    wait_until(lambda: first.get_status() == "Running")
    large = submit(workspace, project, "print(1)", distributed_job_config=PyTorchConfiguration("Gloo", 3, 3), **common)
    wait_until(lambda: large.get_status() == "Queued")
    endless = submit(workspace, project, "print(1)", compute_target=target)
    wait_until(lambda: endless.get_status() == "Queued")
    short = submit(workspace, project, "print(1)", compute_target=target, max_run_duration_seconds=60)
    assert finish(short).get_status() == "Completed"
    assert [large.get_status(), endless.get_status()] == ["Queued", "Queued"]
    gate.touch()
    assert {finish(run).get_status() for run in (first, large, endless)} == {"Completed"}


def test_parameter_servers_stop_when_the_workers_have_finished(workspace: Workspace, project: Path) -> None:
    """Under a chief, the workers are stopped as well."""
    script = """
        import json, os, signal, sys, time
        task = json.loads(os.environ["TF_CONFIG"])["task"]
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        print(task)
        open(f"outputs/{task['type']}_{task['index']}", "w").close()
        if task["type"] != sys.argv[1]:
            time.sleep(300)
        while len(os.listdir("outputs")) < int(sys.argv[2]):
            time.sleep(0.02)
    """
    plain = TensorflowConfiguration(worker_count=2, parameter_server_count=1)
    run = finish(submit(workspace, project, script, arguments=["worker", 3], distributed_job_config=plain))
    assert run.get_status() == "Completed", run.get_details()
    names = run.get_file_names()
    assert {"outputs/worker_0", "outputs/worker_1", "outputs/ps_0"} <= set(names)
    assert {f"user_logs/std_log_{task}.txt" for task in ("worker_0", "worker_1", "ps_0")} <= set(names)
    led = TensorflowConfiguration(worker_count=2, parameter_server_count=1, chief=True)
    run = finish(submit(workspace, project, script, arguments=["chief", 4], distributed_job_config=led))
    assert run.get_status() == "Completed", run.get_details()
