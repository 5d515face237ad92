from __future__ import annotations

import ast
from dataclasses import replace

import pytest

from footplate.engines.base import AgentJob
from footplate.engines.remote_start import COMMON_OPTIONS, remote_start
from footplate.errors import InvalidInput


def job(**options: object) -> AgentJob:
    return AgentJob("r1", 2, 4, "https://ml:8443", token="t0ken", bundle="d" * 64, options=options)


def test_nodes_get_the_program_its_arguments_and_variables() -> None:
    start = remote_start(job(scratch="/scratch/$USER", shared="/nfs/ml", python="python3.9"))
    assert start.variables == {
        "FOOTPLATE_BUNDLE": "d" * 64, "FOOTPLATE_TOKEN": "t0ken", "FOOTPLATE_NODE_HOME": "/scratch/$USER",
        "FOOTPLATE_SHARED": "/nfs/ml",
    }  # fmt: skip
    assert start.interpreter == ["python3.9", "-I", "-S"]
    expected = ["--run", "r1", "--attempt", "2", "--endpoint", "https://ml:8443", "--node", "3"]
    assert start.arguments(3) == expected


def test_without_options_the_node_decides() -> None:
    start = remote_start(job())
    assert start.interpreter[0] == "python3"
    assert "FOOTPLATE_NODE_HOME" not in start.variables


def test_the_program_imports_nothing_of_ours() -> None:
    for statement in ast.walk(ast.parse(remote_start(job()).script)):
        if isinstance(statement, ast.Import):
            assert not any(name.name.startswith("footplate") for name in statement.names)
        assert not (isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("footplate"))


def test_bad_options_are_refused_by_name() -> None:
    for options in ({"scratch": "relative"}, {"scratch": 5}, {"python": ["python3"]}):
        (name,) = options
        assert name in COMMON_OPTIONS
        with pytest.raises(InvalidInput, match=f"the option {name} is"):
            remote_start(job(**options))
    with pytest.raises(InvalidInput, match="no agent bundle"):
        remote_start(replace(job(), bundle=None))
