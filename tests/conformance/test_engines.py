from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from footplate.engines.base import AgentJob
from footplate.engines.local import LocalEngine
from footplate.testing.engine_suite import EngineSuite
from footplate.testing.namespace_engine import NamespaceEngine
from footplate.testing.networks import SERVER, PrivateNetwork, why_no_namespaces


class LocalArena:
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
    def __init__(self, home: Path, folder: Path, network: PrivateNetwork) -> None:
        self.folder, names = folder, ",".join(network.nodes)
        self._options = {"namespaces": names, "root": str(folder / "nodes"), "hide": str(home)}

    def engine(self, program: str) -> NamespaceEngine:
        return NamespaceEngine([sys.executable, "-c", program.format(folder=str(self.folder))])

    def job(self, run: str, nodes: int = 1) -> AgentJob:
        return AgentJob(run, 1, nodes, f"http://{SERVER}:8000", token="t0ken", options=self._options)


@pytest.fixture(scope="module")
def network() -> Iterator[PrivateNetwork]:
    if reason := why_no_namespaces():
        pytest.skip(reason)
    network = PrivateNetwork(nodes=2)
    yield network
    network.close()


class TestNamespaceEngine(EngineSuite):
    @pytest.fixture
    def arena(self, home: Path, tmp_path: Path, network: PrivateNetwork) -> NamespaceArena:
        return NamespaceArena(home, tmp_path, network)
