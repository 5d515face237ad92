"""The orders of node agents, over a real store."""

from __future__ import annotations

import pytest

from footplate.domain.specs import Distribution
from footplate.errors import Conflict

from .conftest import House


def test_a_finished_node_does_not_join_again(house: House) -> None:
    """Its ranks may end before those of a node whose agent died: the engine starts all agents that are gone."""
    nodes = house.services.nodes
    house.submit("pair", distribution=Distribution("torch", node_count=2))
    house.until_launched("pair")
    for node in (0, 1):
        nodes.join("pair", node, 1, "gandalf", "127.0.0.1", {})
        nodes.prepared("pair", node, (6105, 6106) if node == 0 else ())
    for event in ("started", "exited", "done"):
        nodes.report("pair", 1, event, None, None)
    assert nodes.join("pair", 0, 1, "gandalf", "127.0.0.1", {}).ready
    with pytest.raises(Conflict, match="node 1 of run pair is done"):
        nodes.join("pair", 1, 1, "gandalf", "127.0.0.1", {})
