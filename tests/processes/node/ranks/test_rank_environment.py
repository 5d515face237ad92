from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from footplate.domain.orders import Program
from footplate.environments.base import Interpreter
from footplate.node.ranks.rank_environment import RankEnvironment, rank_argv


def setting(**inherited: str) -> RankEnvironment:
    interpreter = Interpreter(("/env/bin/python",), {"VIRTUAL_ENV": "/env", "CLASH": "environment"})
    ours = {"FOOTPLATE_ENDPOINT": "unix:///s", "CLASH": "us"}
    return RankEnvironment(interpreter, "/runtime", "/env/bin", inherited, ours, {"FOOTPLATE_RUN_ID": "run_1"})


@pytest.mark.parametrize(
    ("command", "code"), [("true", 0), ("exit 7", 7), ("false", 1), ("no-such-program-at-all", 127)]
)
def test_a_command_records_its_end_and_keeps_its_exit_code(tmp_path: Path, command: str, code: int) -> None:
    argv = rank_argv(Program(command=command), setting())
    variables = {**os.environ, "FOOTPLATE_EXITS": str(tmp_path), "FOOTPLATE_RANK": "0"}
    assert subprocess.run(argv, env=variables, capture_output=True).returncode == code
    assert json.loads((tmp_path / "rank_0.json").read_text()) == {"code": code}
