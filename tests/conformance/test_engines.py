from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from footplate.engines.base import AgentJob, Observation
from footplate.engines.local import LocalEngine
from footplate.testing.engine_suite import EngineSuite, observe
from footplate.testing.simulated_engine import QUEUED, SimulatedCluster, SimulatedEngine
from support.fixtures import open_network
from support.namespace_engine import NamespaceEngine
from support.networks import SERVER, PrivateNetwork


class LocalArena:
    restarts_agents = False

    def __init__(self, home: Path, folder: Path) -> None:
        self.home, self.folder = home, folder

    def engine(self, program: str) -> LocalEngine:
        return LocalEngine([sys.executable, "-c", program.format(folder=str(self.folder))])

    def job(self, run: str, nodes: int = 1) -> AgentJob:
        return AgentJob(run, 1, nodes, f"unix://{self.home}/server.sock", home=str(self.home))


class TestLocalEngine(EngineSuite):
    @pytest.fixture
    def arena(self, home: Path, tmp_path: Path) -> LocalArena:
        return LocalArena(home, tmp_path)


class NamespaceArena:
    restarts_agents = False

    def __init__(self, home: Path, folder: Path, network: PrivateNetwork) -> None:
        self.folder, names = folder, ",".join(network.nodes)
        self._options = {"namespaces": names, "root": str(folder / "nodes"), "hide": str(home)}

    def engine(self, program: str) -> NamespaceEngine:
        return NamespaceEngine([sys.executable, "-c", program.format(folder=str(self.folder))])

    def job(self, run: str, nodes: int = 1) -> AgentJob:
        return AgentJob(run, 1, nodes, f"http://{SERVER}:8000", token="t0ken", bundle="b" * 64, options=self._options)


@pytest.fixture(scope="module")
def network() -> Iterator[PrivateNetwork]:
    yield from open_network(nodes=2)


class TestNamespaceEngine(EngineSuite):
    @pytest.fixture
    def arena(self, home: Path, tmp_path: Path, network: PrivateNetwork) -> NamespaceArena:
        return NamespaceArena(home, tmp_path, network)


class SimulatedArena:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def engine(self, program: str = "") -> SimulatedEngine:
        return SimulatedEngine()

    def job(self, run: str, nodes: int = 1) -> AgentJob:
        return AgentJob(run, 1, nodes, "unix:///nowhere.sock", token="t0ken", options={"folder": str(self.folder)})


class TestSimulatedEngine:
    """The parts of the suite that need no programs, and the same promises where a test plays the agents."""

    @pytest.fixture
    def arena(self, tmp_path: Path) -> SimulatedArena:
        return SimulatedArena(tmp_path)

    test_the_request_is_rendered_whole_and_twice_the_same = (
        EngineSuite.test_the_request_is_rendered_whole_and_twice_the_same
    )
    test_what_cannot_be_given_is_refused_by_name = EngineSuite.test_what_cannot_be_given_is_refused_by_name

    def test_agents_are_seen_as_ordered_by_every_engine_object(self, arena: SimulatedArena) -> None:
        engine, cluster = arena.engine(), SimulatedCluster(arena.folder)
        request = engine.prepare(arena.job("r1", nodes=2))
        handle = engine.submit(request)
        assert observe(engine, handle) == QUEUED
        ordered = Observation("running", {1: 3}, (0,), places={0: "here"})
        cluster.order(["r1"], ordered)
        assert observe(engine, handle) == observe(arena.engine(), handle) == ordered
        assert arena.engine().submit(request) == handle
        assert observe(engine, handle) == ordered, "living agents are left alone"
        assert cluster.job("r1")["token"] == "t0ken"
        assert cluster.calls() == {"submit": 2, "poll": 4}

    def test_canceled_agents_end_and_can_be_forgotten(self, arena: SimulatedArena) -> None:
        engine = arena.engine()
        handle = engine.submit(engine.prepare(arena.job("r1", nodes=2)))
        assert engine.forget(handle) is False
        for _ in range(2):
            engine.cancel(handle, 0.0)
        assert observe(engine, handle) == Observation("exited", {0: 143, 1: 143})
        assert engine.forget(handle) is True
        assert engine.forget(handle) is True
        assert observe(arena.engine(), handle).state == "gone"

    def test_unknown_handles_are_gone(self, arena: SimulatedArena) -> None:
        engine = arena.engine()
        seen = engine.poll(["", "never heard of", f"r1/1@{arena.folder}"])
        assert [one.state for one in seen.values()] == ["gone", "gone", "gone"]
        engine.cancel("never heard of", 0.0)
        assert engine.forget("never heard of") is True
