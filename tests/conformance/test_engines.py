from __future__ import annotations

import sys
from pathlib import Path

import pytest

from footplate.engines.base import AgentJob
from footplate.engines.local import LocalEngine
from footplate.testing.engine_suite import EngineSuite


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
