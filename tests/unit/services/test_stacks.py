"""Requests for stack traces, over a real store."""

from __future__ import annotations

import pytest

from footplate.domain.specs import Distribution
from footplate.errors import Conflict

from .conftest import House


def running_pair(house: House) -> None:
    nodes = house.services.nodes
    house.submit("pair", distribution=Distribution("torch", node_count=2))
    house.until_launched("pair")
    for node in (0, 1):
        nodes.join("pair", node, 1, "gandalf", "127.0.0.1", {})
        nodes.note_prepared("pair", node, (6105, 6106) if node == 0 else ())
        nodes.report("pair", node, "started", None, None)


def test_a_node_that_has_ended_is_not_waited_for(house: House) -> None:
    running_pair(house)
    stacks = house.services.stacks
    assert stacks.ask("pair", "why").missing == (0, 1)
    stacks.answer("pair", 0, "why", ())
    house.services.nodes.report("pair", 1, "exited", None, None)
    assert stacks.ask("pair", "why").missing == ()


def test_a_request_fails_when_all_nodes_have_ended(house: House) -> None:
    running_pair(house)
    stacks = house.services.stacks
    stacks.ask("pair", "why")
    for event in ("exited", "done"):
        for node in (0, 1):
            house.services.nodes.report("pair", node, event, None, None)
    with pytest.raises(Conflict, match="is Completed: no process of it runs"):
        stacks.ask("pair", "why")
