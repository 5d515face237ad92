from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from footplate.domain.codec import to_json
from footplate.domain.orders import Lock, NodeOrders, Program
from footplate.engines.base import AgentJob, Observation
from footplate.engines.local import LocalEngine
from footplate.errors import InvalidInput
from footplate.node import process_tree
from footplate.node.node_directory import NodeFolder


def job(home: Path, run: str = "run_1", nodes: int = 1, token: str | None = None) -> AgentJob:
    return AgentJob(run, 2, nodes, "unix:///s", token, str(home))


def test_the_request_contains_exactly_what_is_started() -> None:
    request = LocalEngine(["/bin/agent"]).prepare(job(Path("/home"), nodes=2, token="t0ken"))
    common = ["--run", "run_1", "--attempt", "2", "--endpoint", "unix:///s", "--home", "/home"]
    assert request.body == {
        "home": "/home",
        "program": ["/bin/agent"],
        "agents": [
            {
                "arguments": [*common, "--node", str(node), "--address", f"127.0.0.{2 + node}", "--lock", "3"],
                "variables": {
                    "FOOTPLATE_AGENT": f"run_1/{node}",
                    "FOOTPLATE_HOME": "/home",
                    "FOOTPLATE_TOKEN": "t0ken",
                },
                "orders": None,
            }
            for node in range(2)
        ],
    }


@pytest.mark.parametrize(("length", "is_passed"), [(10, True), (100_000, False)])
def test_agents_get_orders_that_fit_into_a_message(length: int, is_passed: bool) -> None:
    lock = Lock("d" * 64, "existing", {"interpreter": "p" * length})
    orders = NodeOrders("run_1", 0, 1, True, False, Program(script="train.py"), lock, None, {})
    request = LocalEngine().prepare(replace(job(Path("/home")), orders=orders))
    assert request.body["agents"][0]["orders"] == (to_json(orders) if is_passed else None)


def test_the_token_is_not_on_the_command_line() -> None:
    request = LocalEngine().prepare(job(Path("/home"), token="t0ken"))
    assert "t0ken" not in json.dumps(request.body["agents"][0]["arguments"])


def test_a_job_without_a_home_is_refused() -> None:
    with pytest.raises(InvalidInput, match="home"):
        LocalEngine().prepare(AgentJob("r", 1, 1, "unix:///s"))


def handle(home: Path, pid: int, identity: str) -> str:
    return json.dumps({"home": str(home), "run": "run_1", "attempt": 1, "agents": [{"pid": pid, "identity": identity}]})


def test_a_reused_pid_is_not_taken_for_the_agent(home: Path) -> None:
    known = process_tree.identity(os.getpid())
    assert known is not None
    engine = LocalEngine()
    ours, other = handle(home, os.getpid(), known), handle(home, os.getpid(), "1" + known)
    seen = engine.poll([ours, other])
    assert seen[ours].state == "running"
    assert seen[other].state == "exited"
    engine.cancel(other, 0.0)  # must not reach us


def test_the_directory_of_a_dead_agent_shows_how_it_ended(home: Path) -> None:
    engine, dead = LocalEngine(), handle(home, 2**22, "1@x")
    folder = NodeFolder(str(home), "run_1", 0)
    assert engine.poll([dead])[dead] == Observation("exited", {0: 0}), "the folder is gone: it had finished"
    folder.make()
    assert engine.poll([dead])[dead] == Observation("exited", {0: None}), "it was killed"
    folder.write_exit(70)
    assert engine.poll([dead])[dead] == Observation("exited", {0: 70})
