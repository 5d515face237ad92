"""The training loop on a real Slurm cluster whose nodes see neither the server's home nor its source code."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import footplate
from azureml.core import Environment, Experiment, Run, Workspace
from azureml.core.compute import ComputeTarget
from azureml.core.runconfig import PyTorchConfiguration
from footplate import environ
from footplate.testing.waiting import wait_until
from support.cluster_runs import (
    BUILT,
    GANG,
    IN_A_BOX,
    SLEEP,
    check_observed,
    describe,
    log_of,
    log_of_rank,
    submit,
    sweep_with_data,
)
from support.cluster_services import Client, deploy
from support.networks import SERVER, Forwarder, PrivateNetwork, ServerInside, as_user
from support.ray_cluster import NVIDIA_SMI
from support.slurm_cluster import SlurmCluster, why_no_slurm
from support.ssh_server import SshServer


@pytest.fixture
def cluster(home: Path, private_network: PrivateNetwork, request: pytest.FixtureRequest) -> Iterator[SlurmCluster]:
    """A cluster; a parameter of a test limits the memory of its jobs."""
    limits_memory: bool = getattr(request, "param", False)
    if reason := why_no_slurm(limits_memory=limits_memory):
        pytest.skip(reason)
    hidden = [home, Path(footplate.__file__).parents[1]]
    with SlurmCluster(private_network, hide=hidden, limits_memory=limits_memory) as cluster:
        yield cluster


@pytest.fixture
def server(home: Path, cluster: SlurmCluster) -> Iterator[ServerInside]:
    """A server on a login node of the cluster."""
    with ServerInside(cluster.network, home, cluster.variables) as server:
        yield server


@pytest.fixture
def target(server: ServerInside, project: Path, cluster: SlurmCluster) -> Any:
    wanted = ComputeTarget.engine_configuration("slurm", max_nodes=3, scratch=str(cluster.scratch))
    return ComputeTarget.attach(Workspace.from_config(), "slurm", wanted)


TRAIN = """
import os, sys, time
from azureml.core import Run
run = Run.get_context()
home, gate = sys.argv[1:]
assert os.listdir(home) == [], "the server's home is visible"
assert not any(name.startswith("SLURM") for name in os.environ), "variables of the agent reached the script"
run.log("accuracy", 0.5)
print("waiting at the gate", flush=True)
while not os.path.exists(gate):
    time.sleep(0.05)
run.log("accuracy", 0.75)
os.makedirs("outputs", exist_ok=True)
with open("outputs/model.txt", "w") as file:
    file.write("weights")
print("trained on", os.uname().nodename, flush=True)
"""


def test_training_survives_the_agent_and_the_controller(
    target: Any, cluster: SlurmCluster, here: Environment, home: Path, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    run = submit(target, here, TRAIN, str(home), str(gate))
    wait_until(lambda: "waiting at the gate" in log_of(run))
    wait_until(lambda: run.get_metrics().get("accuracy") == 0.5)
    check_observed(run)
    assert [node["privateIpAddress"] for node in target.list_nodes() if node["runId"]] == ["10.77.0.11"]
    (lock,) = cluster.disk("n0").glob(f"work/{run.id}/node_0/agent.lock")
    killed = json.loads(lock.read_text())["pid"]
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: json.loads(lock.read_text())["pid"] != killed)
    cluster.stop_controller()
    gate.touch()
    wait_until(lambda: run.get_status() == "Completed")
    cluster.start_controller()
    assert run.get_metrics()["accuracy"] == [0.5, 0.75]
    assert log_of(run) == "waiting at the gate\ntrained on n0\n"
    run.download_file("outputs/model.txt", "model.txt")
    assert Path("model.txt").read_text() == "weights"
    wait_until(lambda: not cluster.call("squeue", "--noheader"))
    assert not list(cluster.disk("n0").glob("work/*"))


def test_queued_runs_say_why_and_two_nodes_meet_and_cancel_ends_all(
    target: Any, cluster: SlurmCluster, here: Environment, tmp_path: Path
) -> None:
    blocker = cluster.call("sbatch", "--parsable", "--nodes=3", "--exclusive", "--output=/dev/null", "--wrap=sleep 600")
    cluster.wait_for_nodes(*cluster.nodes, state="allocated")
    run = submit(target, here, GANG, distributed_job_config=PyTorchConfiguration("Gloo", 2, 2))
    wait_until(lambda: "Slurm: Resources" in run.get_detailed_status()["details"])
    cluster.call("scancel", blocker)
    run.wait_for_completion()
    first, met, second, *said = log_of_rank(run, 0).split()
    assert (met, said) == ("met", ["rank", "1", "of", "2"])
    assert first != second and {first, second} <= set(cluster.network.addresses)
    started = tmp_path / "started"
    run = submit(target, here, SLEEP, str(started))
    wait_until(lambda: started.exists() and started.read_text())
    run.cancel()
    run.wait_for_completion(raise_on_error=False)
    assert run.get_status() == "Canceled"
    wait_until(lambda: not Path(f"/proc/{started.read_text()}").exists())
    wait_until(lambda: not cluster.call("squeue", "--noheader"))


def test_a_service_moves_to_another_node_when_its_own_is_lost(
    target: Any, cluster: SlurmCluster, here: Environment, home: Path
) -> None:
    wanted = ComputeTarget.engine_configuration("slurm", scratch=str(cluster.scratch), sbatch=["--exclusive"])
    service = deploy(ComputeTarget.attach(target.workspace, "whole-nodes", wanted), here, "number", 2)
    try:
        service.wait_for_deployment()
        client = Client(home, cluster.network, "number")
        try:
            assert {answer["host"] for answer in client.ask_many()} == {"n0", "n1"}
            cluster.kill_node("n0")
            wait_until(lambda: {answer["host"] for answer in client.ask_many()} == {"n1", "n2"})
        finally:
            client.close()
    finally:
        service.delete()
    wait_until(lambda: not cluster.call("squeue", "--noheader"))


def test_a_server_elsewhere_calls_slurm_over_ssh(
    home: Path, project: Path, cluster: SlurmCluster, here: Environment
) -> None:
    login = SshServer(cluster.network.enter(cluster.network.nodes[2]), "10.77.0.13", cluster.variables)
    try:
        with ServerInside(cluster.network, home):
            wanted = ComputeTarget.engine_configuration(
                "slurm", max_nodes=1, scratch=str(cluster.scratch), host="10.77.0.13", ssh=login.command
            )
            target = ComputeTarget.attach(Workspace.from_config(), "far", wanted)
            run = submit(target, here, "import os\nprint('trained on', os.uname().nodename)")
            run.wait_for_completion()
            assert log_of(run) == "trained on n0\n"
            wait_until(lambda: not cluster.call("squeue", "--noheader"))
    finally:
        login.close()


AS_USER = """
import os
from azureml.core import Run
Run.get_context().log("uid", os.getuid())
os.makedirs("outputs", exist_ok=True)
open("outputs/model.txt", "w").close()
"""


@pytest.fixture
def server_of_a_user(project: Path, cluster: SlurmCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A server on a login node that belongs to `nobody`. The tests belong to root and use it over TCP, with a token."""
    home = cluster.folder / "nobody"
    home.mkdir(mode=0o700)
    shutil.chown(home, "nobody")
    door = Forwarder(cluster.network, cluster.network.server, SERVER, 8000)
    try:
        with ServerInside(cluster.network, home, {**cluster.variables, "HOME": str(home)}, as_user("nobody")):
            monkeypatch.setenv(environ.ENDPOINT, door.address)
            monkeypatch.setenv(environ.TOKEN, (home / "token").read_text().strip())
            yield
    finally:
        door.close()


def test_a_server_and_its_runs_belong_to_an_ordinary_user(
    server_of_a_user: None, cluster: SlurmCluster, footplate: Any
) -> None:
    python = Environment("python3 of the nodes")
    python.python.user_managed_dependencies = True
    python.python.interpreter_path = "python3"
    wanted = ComputeTarget.engine_configuration("slurm", max_nodes=2, scratch=str(cluster.scratch))
    target = ComputeTarget.attach(Workspace.from_config(), "slurm", wanted)
    run, sleeper = submit(target, python, AS_USER), submit(target, python, SLEEP, "/dev/null")
    run.wait_for_completion()
    assert run.get_metrics()["uid"] == pwd.getpwnam("nobody").pw_uid
    assert "outputs/model.txt" in run.get_file_names()
    wait_until(lambda: sleeper.get_status() == "Running")
    assert set(cluster.call("squeue", "--noheader", "--format=%u").split()) == {"nobody"}
    sleeper.cancel()
    sleeper.wait_for_completion(raise_on_error=False)
    assert sleeper.get_status() == "Canceled"
    wait_until(lambda: not cluster.call("squeue", "--noheader"))

    report = footplate.json("compute", "check", "slurm", "--timeout", "300")
    assert report["usable"] and [node["node"] for node in report["nodes"]] == [0, 1]
    for node in report["nodes"]:
        found = {finding["name"]: (finding["state"], finding["message"]) for finding in node["findings"]}
        assert found["network"] == ("ok", "reaches all 2 nodes")
        assert found["server"][1].startswith("http://10.77.0.1:8000 answers")
    assert "ok    cluster     slurm (slurm): 3 nodes" in footplate("doctor").stdout
    cluster.stop_controller()
    (finding,) = [finding for finding in footplate.json("doctor") if finding["name"] == "cluster"]
    assert (finding["state"], finding["hint"]) == ("warn", "try: sinfo")
    assert finding["message"].startswith("the cluster of 'slurm' does not answer: Slurm cannot be reached")


@pytest.fixture
def equipped(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the jobs of the cluster two GPUs for each node, our Python, and this machine's container engine."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "nvidia-smi"
    program.write_text(NVIDIA_SMI.format(gpus="0 1"))
    program.chmod(0o755)
    folders = [str(program.parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(folders))
    (home / "settings.ini").write_text("[jobs]\npass_environment = CONTAINERS_CONF CONTAINERS_STORAGE_CONF\n")


def test_nodes_have_gpus_data_containers_and_shared_environments(
    python_image: str, equipped: None, target: Any, cluster: SlurmCluster, here: Environment, built: Environment,
    tmp_path: Path,
) -> None:  # fmt: skip
    workspace, experiment = target.workspace, Experiment(target.workspace, "slurm")
    sweep = experiment.submit(sweep_with_data(target, here, tmp_path, (1, 3)))
    two = PyTorchConfiguration("Gloo", 2, 2)
    boxed = submit(target, Environment.from_docker_image("boxed", python_image), IN_A_BOX, distributed_job_config=two)
    shared: dict[str, Any] = {"scratch": str(cluster.scratch), "shared": str(tmp_path / "shared")}
    wanted = ComputeTarget.engine_configuration("slurm", max_nodes=3, **shared)
    run = submit(ComputeTarget.attach(workspace, "sharing", wanted), built, BUILT, distributed_job_config=two)
    run.wait_for_completion()
    (python,) = (tmp_path / "shared").glob("environments/*/bin/python")
    assert [log_of_rank(run, rank) for rank in (0, 1)] == [f"version 99.5 in {python.parents[1]}\n"] * 2
    assert not list(cluster.folder.glob("disk.*/environments/*/lib"))
    boxed.wait_for_completion()
    assert [log_of_rank(boxed, rank) for rank in (0, 1)] == [f"boxed rank {rank} of 2\n" for rank in (0, 1)]
    sweep.wait_for_completion()
    assert [trial.values for trial in sweep.get_trials()] == [(8.0,), (24.0,)]

    # Another job has the first GPU of the only node that is left.
    cluster.call("scontrol", "update", "nodename=n[1-2]", "state=drain", "reason=test")
    other = cluster.call("sbatch", "--parsable", "--gres=gpu:1", "--mem=100M", "--output=/dev/null", "--wrap=sleep 600")
    wait_until(lambda: cluster.call("squeue", "--noheader", f"--jobs={other}", "--format=%T") == "RUNNING")
    config = describe(target, here, "import os\nprint('sees', os.environ['CUDA_VISIBLE_DEVICES'])")
    config.run_config.gpus, config.run_config.engine_options = 1, {"sbatch": ["--mem=100M"]}
    run = experiment.submit(config)
    run.wait_for_completion()
    assert log_of(run) == "sees 1\n"
    cluster.call("scancel", other)
    wait_until(lambda: not cluster.call("squeue", "--noheader"))


SAVES_ON_WARNING = """
import os, signal, sys, time
from azureml.core import Run
run, state, then = Run.get_context(), "checkpoints/state.txt", sys.argv[1]
first = int(open(state).read()) if os.path.exists(state) else 0
for step in range(first, first + 2):
    run.log("loss", step, step=step)
def save(*_):
    os.makedirs("checkpoints", exist_ok=True)
    with open(state, "w") as file:
        file.write("2")
    print("saved", flush=True)
    if then == "exit":
        sys.exit(1)
if first == 0:
    signal.signal(signal.SIGUSR1, save)
    while True:
        time.sleep(0.1)
"""
STARVES = "print('eats', flush=True)\nfood = bytearray(2**30)\nprint('full', flush=True)"


@pytest.mark.parametrize("cluster", [True], indirect=True, ids=["limits_memory"])
def test_limits_of_time_and_memory_end_runs_or_begin_attempts(
    target: Any, cluster: SlurmCluster, here: Environment
) -> None:
    """Slurm warns at its first look at a job, because the warning is as long as the limit."""

    def start(text: str, *arguments: str, **options: Any) -> Run:
        config = describe(target, here, text, *arguments)
        config.run_config.max_attempts = 2
        config.run_config.warning_signal = "SIGUSR1"
        config.run_config.engine_options = options
        return Experiment(target.workspace, "slurm").submit(config)

    small = ["--mem=500M"]
    leaves = start(SAVES_ON_WARNING, "exit", time_limit=5, warning=300, sbatch=small)
    stays = start(SAVES_ON_WARNING, "stay", time_limit=5, warning=300, sbatch=small)
    starves = start(STARVES, sbatch=small)
    starves.wait_for_completion(raise_on_error=False)
    assert (starves.get_status(), starves.attempt) == ("Failed", 1)
    assert "out-of-memory killer" in starves.get_details()["error"]["error"]["message"]
    assert log_of(starves) == "eats\n"

    wait_until(lambda: "saved" in log_of(stays))
    (job,) = cluster.call("squeue", "--noheader", f"--name=footplate-{stays.id}-1", "--format=%i").split()
    cluster.call("scontrol", "update", f"jobid={job}", "EndTime=now")
    for run in (leaves, stays):
        run.wait_for_completion()
        assert run.attempt == 2
        assert run.get_metrics()["loss"] == [0, 1, 2, 3]
        assert "──── the time limit is near: SIGUSR1" in log_of(run)
    assert any("the time limit of slurm ended the run" in line.text for line in stays.story())
    wait_until(lambda: not cluster.call("squeue", "--noheader"))


ATTEMPT = """
import os, sys, time
from azureml.core import Run
folder, attempt, saved = sys.argv[1], os.environ["FOOTPLATE_ATTEMPT"], "checkpoints/attempts"
before = open(saved).read() if os.path.exists(saved) else ""
run = Run.get_context()
run.log("attempt", int(attempt), step=int(attempt))
os.makedirs("checkpoints", exist_ok=True)
with open(saved, "w") as file:
    file.write(before + attempt)
with open(os.path.join(folder, "starts"), "a") as file:
    file.write(f"{attempt} after {before} on {os.uname().nodename}\\n")
while not os.path.exists(os.path.join(folder, "go" + attempt)):
    time.sleep(0.05)
"""


def test_failures_of_the_cluster_begin_new_attempts_of_the_run(
    target: Any, cluster: SlurmCluster, here: Environment, tmp_path: Path
) -> None:
    config = describe(target, here, ATTEMPT, str(tmp_path))
    config.run_config.max_attempts = 4
    run = Experiment(target.workspace, "slurm").submit(config)

    def starts() -> list[str]:
        return (tmp_path / "starts").read_text().splitlines() if (tmp_path / "starts").exists() else []

    def attempt(number: int) -> str:
        """Wait until this attempt runs, as the only job of the run, and return its number in Slurm."""
        wait_until(lambda: len(starts()) == number)
        wait_until(lambda: run.get_status() == "Running")
        wait_until(lambda: run.get_metrics().get("attempt") in (number, [*range(1, number + 1)]))
        (job,) = cluster.call(
            "squeue", "--noheader", "--states=RUNNING", f"--name=footplate-{run.id}-{number}", "--format=%i"
        ).split()
        return job

    attempt(1)
    wait_until(lambda: "checkpoints/attempts" in run.get_file_names())
    cluster.kill_node("n0")
    attempt(2)
    urgent = cluster.call(
        "sbatch",
        "--parsable",
        "--partition=urgent",
        "--nodes=2",
        "--exclusive",
        "--output=/dev/null",
        "--wrap=sleep 600",
    )
    wait_until(lambda: "Slurm: " in run.get_detailed_status()["details"])
    cluster.call("scancel", urgent)
    job = attempt(3)
    cluster.call("scontrol", "update", f"jobid={job}", "requeue=1")
    cluster.call("scontrol", "requeue", job)
    attempt(4)
    (tmp_path / "go4").touch()
    run.wait_for_completion()
    assert starts()[:2] == ["1 after  on n0", "2 after 1 on n1"]
    assert [line.split()[0] for line in starts()] == ["1", "2", "3", "4"]
    assert any("slurm lost a node of the run" in line.text for line in run.story())
    wait_until(lambda: not cluster.call("squeue", "--noheader"))
