"""The training loop on a real Ray cluster whose nodes see neither the server's home nor its source code."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import footplate
from azureml.core import Environment, Experiment, Run, Workspace
from azureml.core.compute import ComputeTarget
from azureml.core.runconfig import PyTorchConfiguration
from azureml.train.hyperdrive import GridParameterSampling, HyperDriveConfig, PrimaryMetricGoal, choice
from footplate.node import process_tree
from footplate.testing.waiting import wait_until
from support.cluster_runs import (
    BUILT,
    GANG,
    IN_A_BOX,
    SLEEP,
    Walk,
    check_observed,
    describe,
    log_of,
    log_of_rank,
    submit,
    sweep_with_data,
)
from support.cluster_services import Client, deploy
from support.fixtures import open_network
from support.networks import PrivateNetwork, ServerInside
from support.ray_cluster import HEAD_OPTIONS, SETTINGS, TOKEN, RayCluster

SOURCE = Path(footplate.__file__).parents[1]


@pytest.fixture
def cluster(ray_cluster: RayCluster, home: Path) -> Iterator[RayCluster]:
    """The cluster, blind for the server's files. Afterwards nothing of a run may be left on it."""
    ray_cluster.hide(home, SOURCE)
    yield ray_cluster
    ray_cluster.end_jobs()
    wait_until(lambda: not ray_cluster.processes_with("FOOTPLATE_"))
    ray_cluster.reveal(home, SOURCE)


@pytest.fixture
def server(home: Path, cluster: RayCluster, tmp_path: Path) -> Iterator[ServerInside]:
    with serve(home, cluster, tmp_path) as server:
        yield server


@contextlib.contextmanager
def serve(home: Path, cluster: RayCluster, tmp_path: Path) -> Iterator[ServerInside]:
    """Start a server that knows the head by the name that the guide uses, and its token where Ray keeps it."""
    network = cluster.network
    (tmp_path / "hosts").write_text(f"127.0.0.1 localhost\n{network.address(0)} head training-head-svc\n")
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text(TOKEN)
    named = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', str(tmp_path / "hosts")]
    with ServerInside(network, home, {"HOME": str(tmp_path)}, named) as server:
        yield server


@pytest.fixture
def target(server: ServerInside, project: Path, cluster: RayCluster) -> Any:
    return attach(cluster)


def attach(cluster: RayCluster) -> Any:
    options: dict[str, Any] = {"address": cluster.address, "token_file": "~/.ray/auth_token"}
    wanted = ComputeTarget.engine_configuration("ray", max_nodes=4, **options)
    return ComputeTarget.attach(Workspace.from_config(), "ray", wanted)


def details_of(run: Run) -> str:
    return json.dumps(run.get_detailed_status())


TRAIN = """
import os, sys, time
from azureml.core import Run
run = Run.get_context()
home, gate = sys.argv[1:]
assert os.listdir(home) == [], "the server's home is visible"
assert not any("RAY_JOB" in name for name in os.environ), "variables of the agent reached the script"
run.log("accuracy", 0.5)
print("waiting at the gate", flush=True)
while not os.path.exists(gate):
    time.sleep(0.05)
run.log("accuracy", 0.75)
os.makedirs("outputs", exist_ok=True)
with open("outputs/model.txt", "w") as file:
    file.write("weights")
print("trained", flush=True)
"""


def test_training_survives_the_agent_and_leaves_nothing(
    target: Any, cluster: RayCluster, here: Environment, home: Path, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    run = submit(target, here, TRAIN, str(home), str(gate))
    wait_until(lambda: "waiting at the gate" in log_of(run))
    wait_until(lambda: run.get_metrics().get("accuracy") == 0.5)
    check_observed(run)
    (address,) = [node["privateIpAddress"] for node in target.list_nodes() if node["runId"]]
    disk = cluster.home(cluster.network.addresses.index(address)) / ".cache/footplate"
    (lock,) = disk.glob(f"work/{run.id}/node_0/agent.lock")
    killed = json.loads(lock.read_text())["pid"]
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: json.loads(lock.read_text())["pid"] != killed)
    gate.touch()
    run.wait_for_completion()
    assert run.get_metrics()["accuracy"] == [0.5, 0.75]
    assert log_of(run) == "waiting at the gate\ntrained\n"
    run.download_file("outputs/model.txt", "model.txt")
    assert Path("model.txt").read_text() == "weights"
    wait_until(lambda: run.id not in {job["submission_id"] for job in cluster.ask("/api/jobs/")})
    assert not list(disk.glob("work/*"))


def test_check_probes_every_worker(target: Any, footplate: Any) -> None:
    report = footplate.json("compute", "check", "ray", "--timeout", "300")
    assert report["usable"] and [node["node"] for node in report["nodes"]] == [0, 1]
    for node in report["nodes"]:
        found = {finding["name"]: (finding["state"], finding["message"]) for finding in node["findings"]}
        assert found["network"] == ("ok", "reaches all 2 nodes")
        assert "not visible" in found["home"][1]


SHOW_GPUS = "hostname -I >> $0; echo $CUDA_VISIBLE_DEVICES >> $0; mv $0 $0.done; sleep 600"


def test_scripts_see_the_gpus_that_ray_assigned(
    target: Any, cluster: RayCluster, here: Environment, tmp_path: Path
) -> None:
    """Other jobs hold three of the four GPUs of the cluster: the run has the fourth."""
    files = [tmp_path / f"gpu{number}" for number in range(3)]
    for file in files:
        command = shlex.join(["sh", "-c", SHOW_GPUS, str(file)])
        cluster.ask("/api/jobs/", "POST", {"entrypoint": command, "entrypoint_num_gpus": 1})
    done = [file.with_suffix(".done") for file in files]
    wait_until(lambda: all(file.exists() for file in done))
    taken = {tuple(file.read_text().split()) for file in done}
    text = "import os\nprint(os.popen('hostname -I').read(), os.environ['CUDA_VISIBLE_DEVICES'])"
    config = describe(target, here, text)
    config.run_config.gpus = 1
    run = Experiment(target.workspace, "ray").submit(config)
    run.wait_for_completion()
    assert taken | {tuple(log_of(run).split())} == {(f"10.77.0.{n}", gpu) for n in (12, 13) for gpu in "01"}


def test_trials_read_files_and_tables_on_bare_nodes(target: Any, here: Environment, tmp_path: Path) -> None:
    config = sweep_with_data(target, here, tmp_path, (1, 4, 2, 3))
    run = Experiment(target.workspace, "ray").submit(config)
    run.wait_for_completion()
    assert [trial.values for trial in run.get_trials()] == [(8.0,), (32.0,), (16.0,), (24.0,)]


def test_trials_on_two_nodes_meet_over_their_network(target: Any, here: Environment) -> None:
    script = describe(target, here, GANG, distributed_job_config=PyTorchConfiguration("Gloo", 2, 2))
    space = GridParameterSampling({"--score": choice(1, 3)})
    goal = PrimaryMetricGoal.MAXIMIZE
    config = HyperDriveConfig(space, "score", goal, 2, max_concurrent_runs=1, run_config=script)
    run = Experiment(target.workspace, "ray").submit(config)
    run.wait_for_completion()
    best = run.get_best_run_by_primary_metric()
    assert best.get_metrics()["score"] == 3.0
    first, met, second, *said = log_of_rank(best, 0).split()
    assert ({first, second}, met, said) == ({"10.77.0.12", "10.77.0.13"}, "met", ["rank", "1", "of", "2"])


def test_queued_runs_say_why_and_cancel_and_a_foreign_stop_end_runs(
    target: Any, cluster: RayCluster, here: Environment, tmp_path: Path
) -> None:
    first, second = (submit(target, here, SLEEP, str(tmp_path / name)) for name in ("first", "second"))
    wait_until(lambda: (tmp_path / "first").exists() and (tmp_path / "second").exists())
    third = submit(target, here, SLEEP, str(tmp_path / "third"))
    wait_until(lambda: "the Ray cluster is full: the run needs a node with 1 CPU" in details_of(third))
    third.cancel()
    config = describe(target, here, GANG, distributed_job_config=PyTorchConfiguration("Gloo", 2, 2))
    config.run_config.engine_options = {"resources": {"blue": 1}}
    choosy = Experiment(target.workspace, "ray").submit(config)
    wait_until(lambda: "2 nodes with 1 CPU and 1 blue each, and the Ray cluster has none" in details_of(choosy))
    choosy.cancel()
    wait_until(lambda: {third.get_status(), choosy.get_status()} == {"Canceled"})
    cluster.ask(f"/api/jobs/{first.id}/stop", "POST")
    wait_until(lambda: first.get_status() == "Failed")
    assert "not by Footplate" in json.dumps(first.get_details()["error"])
    second.cancel()
    wait_until(lambda: second.get_status() == "Canceled")
    assert not (tmp_path / "third").exists()


WAITS = """
import os, sys, time
with open(sys.argv[1], "a") as file:
    file.write(os.environ["FOOTPLATE_ATTEMPT"] + " " + str(os.getpid()) + "\\n")
while not os.path.exists(sys.argv[2]):
    time.sleep(0.05)
"""


def test_a_killed_raylet_and_a_new_head_lead_to_new_attempts(
    target: Any, cluster: RayCluster, here: Environment, tmp_path: Path
) -> None:
    starts, gate = tmp_path / "starts", tmp_path / "gate"
    starts.touch()
    config = describe(target, here, WAITS, str(starts), str(gate))
    config.run_config.max_attempts = 3
    run = Experiment(target.workspace, "ray").submit(config)
    wait_until(lambda: len(starts.read_text().splitlines()) == 1)
    first = int(starts.read_text().split()[1])
    identity = process_tree.identity(first)
    (address,) = [node["privateIpAddress"] for node in target.list_nodes() if node["runId"]]
    cluster.kill_raylet(cluster.network.addresses.index(address))
    wait_until(lambda: len(starts.read_text().splitlines()) == 2)
    wait_until(lambda: run.get_status() == "Running")
    wait_until(lambda: process_tree.identity(first) != identity)
    cluster.restart()
    wait_until(lambda: len(starts.read_text().splitlines()) == 3)
    gate.touch()
    run.wait_for_completion()
    assert [line.split()[0] for line in starts.read_text().splitlines()] == ["1", "2", "3"]


def test_a_run_outlives_the_server_the_network_and_the_head(
    target: Any, server: ServerInside, cluster: RayCluster, here: Environment, tmp_path: Path
) -> None:
    """Each of them is away for a while, and the run ends while there is no head."""
    walk = Walk(target, here, tmp_path)
    walk.wait_for(1)
    server.stop()
    walk.wait_for_steps(20)
    server.start()
    cluster.network.silence(8000)
    walk.wait_for_steps(20)
    cluster.network.let_speak(8000)
    cluster.kill_node(0)
    walk.wait_for_steps(20)
    walk.finish()
    assert walk.run.attempt == 1
    cluster.restart()


def test_nodes_run_containers_build_environments_and_serve(
    python_image: str, target: Any, cluster: RayCluster, here: Environment, built: Environment, home: Path
) -> None:
    """Without a shared directory, each node builds an environment once, for all runs."""
    settings = " ".join(f"{name}={os.environ[name]}" for name in os.environ if name.startswith("CONTAINERS_"))
    cluster.write_program("podman", f'#!/bin/sh\nexec env {settings} {shutil.which("podman")} "$@"\n')
    two = PyTorchConfiguration("Gloo", 2, 2)
    boxed = submit(target, Environment.from_docker_image("boxed", python_image), IN_A_BOX, distributed_job_config=two)
    for _ in range(2):
        run = submit(target, built, BUILT, distributed_job_config=two)
        run.wait_for_completion()
        assert log_of_rank(run, 1).startswith("version 99.5 in ")
    for node in (1, 2):
        assert len(list((cluster.home(node) / ".cache/footplate").glob("environments/*/lib"))) == 1
    boxed.wait_for_completion()
    assert sorted(log_of_rank(boxed, rank) for rank in (0, 1)) == [f"boxed rank {rank} of 2\n" for rank in (0, 1)]

    service = deploy(target, here, "number", 2)
    try:
        service.wait_for_deployment()
        client = Client(home, cluster.network, "number")
        try:
            assert len({answer["pid"] for answer in client.ask_many()}) == 2
        finally:
            client.close()
    finally:
        service.delete()


@pytest.fixture
def small_network() -> Iterator[PrivateNetwork]:
    yield from open_network(nodes=1)


def test_the_second_autoscaler_adds_nodes_for_runs(
    small_network: PrivateNetwork, home: Path, project: Path, here: Environment, footplate: Any, tmp_path: Path
) -> None:
    """KubeRay and `ray up` start the second one; tests/conformance/test_ray_engine.py has the first."""
    with RayCluster(small_network, autoscaler=2) as cluster, serve(home, cluster, tmp_path):
        target, gate = attach(cluster), cluster.new_nodes_may_join
        run = submit(target, here, "print('on a new node')")
        wait_until(lambda: "Scaling: Ray reports: Adding 1 node(s) of type worker" in details_of(run))
        shown = footplate("runs", "show", run.id).stdout
        assert "Scaling" in shown and run.get_status() == "Provisioning"
        gate.touch()
        run.wait_for_completion()
        assert log_of(run) == "on a new node\n"
        gate.unlink()
        gang = submit(target, here, GANG, distributed_job_config=PyTorchConfiguration("Gloo", 2, 2))
        # Two, if Ray has removed the node of the first run meanwhile.
        wait_until(lambda: re.search(r"Scaling: Ray reports: Adding [12] node\(s\) of type worker", details_of(gang)))
        assert "the run needs 2 nodes with 1 CPU each" in details_of(gang)
        gate.touch()
        gang.wait_for_completion()
        assert log_of_rank(gang, 0).endswith("rank 1 of 2\n") and len(cluster.alive_nodes()) == 3
        wait_until(lambda: not cluster.processes_with("FOOTPLATE_"))


def test_the_guides_run_as_they_are_printed(server: ServerInside, home: Path, footplate: Any, tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    variables = {**os.environ, "PATH": path, "HOME": str(tmp_path), "FOOTPLATE_HOME": str(home)}
    (tmp_path / "my-project").mkdir()
    done = subprocess.run(
        [sys.executable, str(root / "tests/docs/page_runner.py"), str(root / "docs/guides/ray.md")],
        cwd=tmp_path / "my-project", env=variables, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "trained on Ray" in done.stdout
    page = (root / "docs/guides/kubernetes.md").read_text()
    (add,) = re.findall(r"^footplate (compute add .*)$", page, re.MULTILINE)
    add = add.replace("/etc/ray-token/token", str(tmp_path / ".ray/auth_token")).replace("/scratch", f"{tmp_path}/s")
    footplate(*add.split())
    assert "on a pod" in footplate("run", "--wait", "--target", "kubernetes", "--", "echo", "on a pod").stdout
    (text,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    spec = yaml.safe_load(text)["spec"]
    assert spec["headGroupSpec"]["rayStartParams"] == HEAD_OPTIONS
    (head,) = spec["headGroupSpec"]["template"]["spec"]["containers"]
    assert head["image"].endswith(f":{importlib.metadata.version('ray')}")
    assert {variable["name"] for variable in head["env"]} <= set(SETTINGS)
