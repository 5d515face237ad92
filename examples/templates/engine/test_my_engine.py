"""The promises that the server relies on. Run them with: python -m pytest"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from my_engine import MyEngine

from footplate.engines.base import AgentJob
from footplate.testing.engine_suite import EngineSuite


class Arena:
    restarts_agents = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def engine(self, program: str) -> MyEngine:
        """Return an engine that starts this program in place of the agent."""
        path = f"import sys; sys.path[:0] = {sys.path!r}\n"
        return MyEngine([sys.executable, "-c", path + program.format(folder=os.fspath(self.folder))])

    def job(self, run: str, nodes: int = 1) -> AgentJob:
        options = {"scratch": os.fspath(self.folder / "nodes")}
        return AgentJob(run, 1, nodes, "http://127.0.0.1:8000", token="t0ken", bundle="b" * 64, options=options)


class TestMyEngine(EngineSuite):
    @pytest.fixture
    def arena(self, tmp_path: Path) -> Arena:
        return Arena(tmp_path)
