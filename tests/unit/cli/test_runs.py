"""A run described in lines."""

from __future__ import annotations

import pytest

from footplate.cli.runs.commands import describe_node
from footplate.domain.records import NodeRecord, NodeState

GPUS = {"gpus": 4}


@pytest.mark.parametrize(
    ("node", "line"),
    [
        (NodeRecord(0, NodeState.LAUNCHED), "0: launched"),
        (NodeRecord(0, NodeState.RUNNING, "gandalf", info=GPUS, gpus=()), "0: running on gandalf"),
        (NodeRecord(1, NodeState.RUNNING, "gandalf", info=GPUS, gpus=("a", "b")), "1: running on gandalf, 2 of 4 GPUs"),
        (
            NodeRecord(0, NodeState.PREPARED, "gandalf", message="ready, waits for node 1"),
            "0: prepared on gandalf: ready, waits for node 1",
        ),
    ],
)
def test_a_node_line_shows_its_state_and_what_it_waits_for(node: NodeRecord, line: str) -> None:
    assert describe_node(node) == line
