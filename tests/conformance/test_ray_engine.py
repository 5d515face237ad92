"""The conformance suite on a real Ray cluster, and what only Ray's engine does."""

from __future__ import annotations

import shutil
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from footplate.engines.base import AgentJob, Engine, NodeResources
from footplate.engines.ray.engine import RayEngine
from footplate.errors import InvalidInput, Unavailable
from footplate.node import process_tree, supervisor
from footplate.testing.engine_suite import WAITS, EngineSuite, ended, observe
from footplate.testing.waiting import wait_until
from support.fixtures import open_network
from support.networks import SERVER, PrivateNetwork
from support.ray_cluster import TOKEN, RayCluster

BUNDLE = "b" * 64


class RayArena:
    """A cluster whose nodes have a stand-in in the place of the agent bundle."""

    restarts_agents = True

    def __init__(self, folder: Path, cluster: RayCluster) -> None:
        self.folder, self._mark = folder, uuid.uuid4().hex[:8]
        (folder / "token").write_text(TOKEN)
        self.options: dict[str, Any] = {
            "address": cluster.outside, "token_file": str(folder / "token"), "scratch": str(folder / "scratch"),
        }  # fmt: skip

    def engine(self, program: str) -> RayEngine:
        # As an agent does: signals are blocked until it handles them.
        start = f"import signal, sys; sys.path[:0] = {[path for path in sys.path if path]!r}\n"
        start += "signal.pthread_sigmask(signal.SIG_SETMASK, [])\n"
        main = self.folder / "scratch" / "bundles" / BUNDLE / "footplate/node/__main__.py"
        main.parent.mkdir(parents=True, exist_ok=True)
        main.write_text(start + program.format(folder=str(self.folder)))
        shutil.copy(supervisor.__file__, main.parent)
        return RayEngine()

    def job(self, run: str, nodes: int = 1, **resources: Any) -> AgentJob:
        name = f"{run}-{self._mark}"  # all tests share the cluster
        wanted = NodeResources(**resources)
        return AgentJob(
            name, 1, nodes, f"http://{SERVER}:8000", token="t0ken", bundle=BUNDLE, options=self.options,
            resources=wanted,
        )  # fmt: skip


@pytest.fixture
def arena(tmp_path: Path, ray_cluster: RayCluster) -> Iterator[RayArena]:
    yield RayArena(tmp_path, ray_cluster)
    ray_cluster.end_jobs()


class TestRayEngine(EngineSuite):
    pass


def test_a_target_asks_the_head_for_its_nodes(ray_cluster: RayCluster, tmp_path: Path) -> None:
    options = RayArena(tmp_path, ray_cluster).options
    assert RayEngine().reach(options) == 2, "the head has no CPUs for runs"
    assert RayEngine().reach({**options, "resources": {"blue": 1}}) == 0
    with pytest.raises(Unavailable, match="does not answer"):
        RayEngine().reach({**options, "address": "http://127.0.0.1:1"})
    with pytest.raises(InvalidInput, match="the option address is 'head'"):
        RayEngine().reach({"address": "head"})


def starts(arena: RayArena) -> list[list[str]]:
    """Return [node, pid] of each start of a stand-in."""
    path = arena.folder / "starts"
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def place_of(engine: Engine, handle: str, node: int) -> str:
    """Return the address of a node; Ray may report it a moment after the start of its agent."""
    return wait_until(lambda: observe(engine, handle).places.get(node))


def test_lost_nodes_and_a_head_without_memory_are_reported(arena: RayArena, ray_cluster: RayCluster) -> None:
    cluster = ray_cluster
    engine = arena.engine(WAITS)
    alone = engine.submit(engine.prepare(arena.job("alone")))
    wait_until(lambda: len(starts(arena)) == 1)
    pid = int(starts(arena)[0][1])
    identity = process_tree.identity(pid)
    place = cluster.network.addresses.index(place_of(engine, alone, 0))
    cluster.kill_raylet(place)
    seen = ended(engine, alone)
    assert (seen.ended_by, seen.codes) == ("node_lost", {0: None})
    wait_until(lambda: process_tree.identity(pid) != identity)  # its guard has killed it
    cluster.kill_node(place)
    cluster.start_node(place)
    cluster.wait_until_ready()

    gang = engine.submit(engine.prepare(arena.job("gang", nodes=2)))
    wait_until(lambda: len(starts(arena)) == 3)
    cluster.kill_node(cluster.network.addresses.index(place_of(engine, gang, 1)))
    wait_until(lambda: observe(engine, gang).lost == (1,))
    (arena.folder / "go0").touch()
    seen = ended(engine, gang)
    assert (seen.ended_by, seen.codes) == ("node_lost", {0: 0, 1: None})

    last = engine.submit(engine.prepare(arena.job("last")))
    cluster.restart()
    seen = observe(engine, last)
    assert (seen.state, seen.ended_by) == ("exited", "node_lost")


def test_several_nodes_are_on_different_machines(arena: RayArena) -> None:
    """Each machine has room for both of them: a node needs no CPU and little memory."""
    engine = arena.engine(WAITS)
    gang = engine.submit(engine.prepare(arena.job("gang", nodes=2, cpus=0, memory=0.05)))
    wait_until(lambda: len(starts(arena)) == 2)
    assert place_of(engine, gang, 0) != place_of(engine, gang, 1)
    for node in (0, 1):
        (arena.folder / f"go{node}").touch()
    assert ended(engine, gang).codes == {0: 0, 1: 0}


@pytest.fixture
def small_network() -> Iterator[PrivateNetwork]:
    yield from open_network(nodes=1)


def test_the_first_autoscaler_adds_nodes_for_runs(small_network: PrivateNetwork, tmp_path: Path) -> None:
    """tests/e2e/test_ray.py has the same with the second one."""
    with RayCluster(small_network, autoscaler=1) as cluster:
        arena = RayArena(tmp_path, cluster)
        engine = arena.engine(WAITS)
        assert engine.reach(arena.options) == 0
        run = engine.submit(engine.prepare(arena.job("run")))
        words = "Scaling: Ray is starting 1 node; the run needs a node with 1 CPU"
        wait_until(lambda: observe(engine, run).reason == words)
        cluster.new_nodes_may_join.touch()
        wait_until(lambda: len(starts(arena)) == 1)
        assert engine.reach(arena.options) == 1
        (tmp_path / "go0").touch()
        assert ended(engine, run).codes == {0: 0}
