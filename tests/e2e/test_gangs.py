"""Runs on several virtual nodes of this machine: they start together or not at all, and fail when one is lost."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from footplate import Experiment, Run, ScriptRunConfig, Workspace
from footplate.node import process_tree
from footplate.node.node_directory import NodeFolder
from footplate.sdk.config.run_configuration import PyTorchConfiguration
from footplate.testing.waiting import wait_until
from support.ops_tools import bytes_of, finish, kill_server, submit, write_source

pytestmark = pytest.mark.shared_home

FOUR_ON_TWO = PyTorchConfiguration("Gloo", process_count=4, node_count=2)

TELL = """
    import json, os, sys
    names = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK",
             "AZ_BATCHAI_PYTORCH_INIT_METHOD", "AZ_BATCHAI_TASK_INDEX", "AZUREML_CR_NODE_RANK")
    rank = os.environ["RANK"]
    print(json.dumps({"argv": sys.argv[1:], "cwd": os.getcwd(), **{name: os.environ[name] for name in names}}))
    open(f"outputs/{rank}.txt", "w").write(rank)
    open(f"logs/{rank}.txt", "w").write(rank)
"""

# Every rank reports that it runs, records SIGTERM, and continues until then; `fatal` is what rank 3 does.
WAIT = """
    import os, signal, sys, time
    rank = os.environ["RANK"]
    def told(number, frame):
        open(f"outputs/told_{{rank}}", "w").close()
        {when_told}
    signal.signal(signal.SIGTERM, told)
    open(f"outputs/ready_{{rank}}", "w").close()
    while sum(name.startswith("ready_") for name in os.listdir("outputs")) < int(os.environ["WORLD_SIZE"]):
        time.sleep(0.01)
    if rank == "3":
        {fatal}
    time.sleep(300)
"""
LEAVE = "sys.exit(0)"


def log_of(run: Run, rank: int, tmp_path: Path) -> str:
    return bytes_of(run, f"user_logs/std_log_process_{rank:02d}.txt", tmp_path).decode()


def error_of(run: Run) -> dict[str, Any]:
    return run.get_details()["error"]["error"]


def agent_of(home: Path, run: Run, node: int) -> int:
    return int(json.loads((home / "work" / run.id / f"node_{node}" / "agent.lock").read_text())["pid"])


def ranks_of(home: Path, run: Run, node: int) -> list[int]:
    return process_tree.members(NodeFolder(str(home), run.id, node).marker())


def until_all_run(home: Path, run: Run, ranks: int = 4) -> None:
    folder = home / "work" / run.id / "node_0" / "wd" / "outputs"
    wait_until(lambda: run.get_status() == "Running" and len(list(folder.glob("ready_*"))) == ranks)


def assert_nothing_is_left(home: Path, run: Run) -> None:
    assert not [pid for node in (0, 1) for pid in ranks_of(home, run, node)]
    wait_until(lambda: not (home / "work" / run.id).exists())


def test_every_rank_knows_its_place(workspace: Workspace, project: Path, tmp_path: Path) -> None:
    arguments = ["--rank", "$RANK", "--node", "$NODE_RANK", "--dist-url", "$AZ_BATCHAI_PYTORCH_INIT_METHOD"]
    run = finish(submit(workspace, project, TELL, arguments=arguments, distributed_job_config=FOUR_ON_TWO))
    assert run.get_status() == "Completed", run.get_details()
    said = [json.loads(log_of(run, rank, tmp_path)) for rank in range(4)]
    assert [(s["RANK"], s["LOCAL_RANK"], s["NODE_RANK"], s["AZ_BATCHAI_TASK_INDEX"]) for s in said] == [
        ("0", "0", "0", "0"), ("1", "1", "0", "1"), ("2", "0", "1", "2"), ("3", "1", "1", "3"),
    ]  # fmt: skip
    assert {(s["MASTER_ADDR"], s["WORLD_SIZE"], s["LOCAL_WORLD_SIZE"]) for s in said} == {("127.0.0.2", "4", "2")}
    assert len({s["MASTER_PORT"] for s in said}) == 1
    assert len({s["AZ_BATCHAI_PYTORCH_INIT_METHOD"] for s in said}) == 1
    assert said[0]["AZ_BATCHAI_PYTORCH_INIT_METHOD"].startswith("file:///")
    assert said[3]["argv"][:4] == ["--rank", "3", "--node", "1"]
    assert said[3]["argv"][5] == said[3]["AZ_BATCHAI_PYTORCH_INIT_METHOD"]


def test_nodes_have_own_addresses_and_share_a_working_directory(
    workspace: Workspace, project: Path, tmp_path: Path
) -> None:
    run = finish(submit(workspace, project, TELL, distributed_job_config=FOUR_ON_TWO))
    nodes = workspace.session.api.runs.get(run.id).nodes
    assert [node.address for node in nodes] == ["127.0.0.2", "127.0.0.3"]
    assert len({json.loads(log_of(run, rank, tmp_path))["cwd"] for rank in range(4)}) == 1
    names = set(run.get_file_names())
    assert {f"{folder}/{rank}.txt" for folder in ("outputs", "logs") for rank in range(4)} <= names


def test_working_directory_stays_until_the_last_node_has_ended(
    workspace: Workspace, project: Path, tmp_path: Path
) -> None:
    """Azure's workers wait for files that others write, and the slowest writes last."""
    script = """
        import os, time
        if os.environ["RANK"] == "1":
            while not os.path.exists("outputs/first"):
                time.sleep(0.01)
            time.sleep(1.5)
            open("outputs/last", "w").write("last")
        else:
            open("outputs/first", "w").close()
    """
    run = finish(submit(workspace, project, script, distributed_job_config=PyTorchConfiguration("Gloo", node_count=2)))
    assert run.get_status() == "Completed", run.get_details()
    assert bytes_of(run, "outputs/last", tmp_path) == b"last"


def test_concurrent_runs_do_not_share_a_port(workspace: Workspace, project: Path, tmp_path: Path) -> None:
    """Each of them listens on its assigned port while all of them run."""
    script = """
        import os, socket, time
        rank, address = os.environ["RANK"], (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
        if rank == "0":
            with socket.create_server(address) as door:
                door.accept()[0].sendall(os.environ["AZUREML_RUN_ID"].encode())
                time.sleep(1)
        else:
            while True:
                try:
                    with socket.create_connection(address) as link:
                        assert link.recv(99).decode() == os.environ["AZUREML_RUN_ID"]
                        break
                except ConnectionRefusedError:
                    time.sleep(0.01)
    """
    two = PyTorchConfiguration("Gloo", node_count=2)
    runs = [submit(workspace, project, script, distributed_job_config=two) for _ in range(2)]
    assert [finish(run).get_status() for run in runs] == ["Completed", "Completed"]


def test_rank_that_failed_first_is_named_and_the_others_get_sigterm(
    home: Path, workspace: Workspace, project: Path
) -> None:
    script = WAIT.format(when_told=LEAVE, fatal='print("out of luck"); raise ValueError("no more data")')
    run = finish(submit(workspace, project, script, distributed_job_config=FOUR_ON_TWO))
    assert run.get_status() == "Failed"
    error = error_of(run)
    assert error["message"] == "rank 3 on node 1: ValueError: no more data"
    assert (error["rank"], error["node"], error["exitCode"]) == (3, 1, 1)
    assert "out of luck" in error["lastLines"]
    assert {f"outputs/told_{rank}" for rank in (0, 1, 2)} <= set(run.get_file_names())
    assert_nothing_is_left(home, run)


def test_ranks_that_fail_as_a_consequence_are_not_the_cause(workspace: Workspace, project: Path) -> None:
    """Rank 3 is killed; all others notice within a moment and fail loudly, on both nodes."""
    script = """
        import os, signal, socket, time
        rank = os.environ["RANK"]
        if rank == "3":
            door = socket.create_server((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])))
            links = [door.accept() for _ in range(3)]
            os.kill(os.getpid(), signal.SIGKILL)
        while True:
            try:
                link = socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])))
                break
            except ConnectionRefusedError:
                time.sleep(0.01)
        link.recv(1)
        raise ConnectionError("peer is gone")
    """
    run = finish(submit(workspace, project, script, distributed_job_config=FOUR_ON_TWO))
    assert (error_of(run)["rank"], error_of(run)["signal"]) == (3, "SIGKILL"), error_of(run)


def test_rank_that_leaves_the_group_before_its_exception_is_the_cause(workspace: Workspace, project: Path) -> None:
    """As with `finally: destroy_process_group()`: the others fail on both nodes, and are reported, before it."""
    script = """
        import os, time
        if os.environ["RANK"] == "3":
            try:
                raise ValueError("no more data")
            finally:
                open("outputs/left", "w").close()
                time.sleep(1)
        while not os.path.exists("outputs/left"):
            time.sleep(0.01)
        raise ConnectionError("peer is gone")
    """
    run = finish(submit(workspace, project, script, distributed_job_config=FOUR_ON_TWO))
    assert error_of(run)["message"] == "rank 3 on node 1: ValueError: no more data"


def test_rank_that_ignores_sigterm_is_killed_after_the_grace_period(
    home: Path, workspace: Workspace, project: Path
) -> None:
    """The grace period starts for all nodes at the same time, not for one after the other."""
    script = WAIT.format(when_told="pass", fatal="sys.exit(7)")
    config = ScriptRunConfig(str(write_source(project, script)), "train.py", distributed_job_config=FOUR_ON_TWO)
    config.run_config.environment_variables["FOOTPLATE_GRACE_SECONDS"] = "3"
    run = Experiment(workspace, "ops").submit(config)
    until_all_run(home, run)
    began = time.monotonic()
    finish(run)
    assert time.monotonic() - began < 60, "without a limit, they would run for ever"
    assert (error_of(run)["rank"], error_of(run)["exitCode"]) == (3, 7)
    assert_nothing_is_left(home, run)


def test_killed_agent_is_a_lost_node(home: Path, workspace: Workspace, project: Path) -> None:
    run = submit(workspace, project, WAIT.format(when_told=LEAVE, fatal="pass"), distributed_job_config=FOUR_ON_TWO)
    until_all_run(home, run)
    os.kill(agent_of(home, run, 1), signal.SIGKILL)
    finish(run)
    assert run.get_status() == "Failed"
    error = error_of(run)
    assert (error["code"], error["node"]) == ("node_lost", 1)
    assert error["message"].startswith("lost node 1 of 2")
    assert {f"outputs/told_{rank}" for rank in range(4)} <= set(run.get_file_names())
    assert_nothing_is_left(home, run)


def test_lost_node_is_the_cause_and_not_the_ranks_that_miss_it(home: Path, workspace: Workspace, project: Path) -> None:
    """As when a machine loses power: the ranks of the other node fail long before the agent is missed."""
    script = """
        import os, time
        rank, folder = os.environ["RANK"], "outputs"
        open(f"outputs/ready_{rank}", "w").close()
        open(f"outputs/pid_{rank}", "w").write(str(os.getpid()))
        while rank == "1":
            time.sleep(60)
        while not os.path.exists("outputs/pid_1") or not open("outputs/pid_1").read():
            time.sleep(0.01)
        peer = int(open("outputs/pid_1").read())
        while os.path.exists(f"/proc/{peer}/cmdline") and open(f"/proc/{peer}/cmdline").read():
            time.sleep(0.01)
        raise ConnectionError("the other node does not answer")
    """
    run = submit(workspace, project, script, distributed_job_config=PyTorchConfiguration("Gloo", node_count=2))
    until_all_run(home, run, ranks=2)
    agent, ranks = agent_of(home, run, 1), ranks_of(home, run, 1)
    process_tree.send([agent, *ranks], signal.SIGKILL)
    finish(run)
    assert (error_of(run)["code"], error_of(run)["node"]) == ("node_lost", 1), error_of(run)
    assert_nothing_is_left(home, run)


def test_gang_survives_the_death_of_the_server(home: Path, workspace: Workspace, project: Path, tmp_path: Path) -> None:
    script = """
        import os, time
        open(f"outputs/ready_{os.environ['RANK']}", "w").close()
        for i in range(150):
            print(i, flush=True)
            time.sleep(0.02)
    """
    run = submit(workspace, project, script, distributed_job_config=FOUR_ON_TWO)
    until_all_run(home, run)
    kill_server(home)
    finish(run)
    assert run.get_status() == "Completed", run.get_details()
    for rank in range(4):
        assert log_of(run, rank, tmp_path).split() == [str(i) for i in range(150)]
    assert_nothing_is_left(home, run)


def test_cancel_stops_every_rank_of_every_node(home: Path, workspace: Workspace, project: Path) -> None:
    run = submit(workspace, project, WAIT.format(when_told=LEAVE, fatal="pass"), distributed_job_config=FOUR_ON_TWO)
    until_all_run(home, run)
    run.cancel()
    finish(run)
    assert run.get_status() == "Canceled"
    assert {f"outputs/told_{rank}" for rank in range(4)} <= set(run.get_file_names())
    assert_nothing_is_left(home, run)


def test_uneven_counts_give_the_first_nodes_one_more(workspace: Workspace, project: Path, tmp_path: Path) -> None:
    three = PyTorchConfiguration("Gloo", process_count=3, node_count=2)
    run = finish(submit(workspace, project, TELL, distributed_job_config=three))
    said = [json.loads(log_of(run, rank, tmp_path)) for rank in range(3)]
    assert [(s["NODE_RANK"], s["LOCAL_RANK"], s["LOCAL_WORLD_SIZE"]) for s in said] == [
        ("0", "0", "2"), ("0", "1", "2"), ("1", "0", "1"),
    ]  # fmt: skip
