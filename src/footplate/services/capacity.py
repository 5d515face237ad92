"""How many nodes a compute target may use at once, and which engine starts them."""

from __future__ import annotations

import os
from dataclasses import dataclass

from footplate.domain.specs import LOCAL
from footplate.errors import InvalidInput, NotFound
from footplate.storage import Store


@dataclass(frozen=True)
class Capacity:
    engine: str
    max_nodes: int


def local_slots() -> int:
    """How many runs share the server's own machine. More than its cores would only make each of them slower."""
    return max(4, os.cpu_count() or 1)


def capacity_of(store: Store, workspace: str, target: str) -> Capacity:
    if target == LOCAL:
        return Capacity("local", local_slots())
    try:
        view = store.computes.get(workspace, target)
    except NotFound:
        raise NotFound(
            f"there is no compute target {target!r} in this workspace",
            "see those that exist with: footplate compute list",
        ) from None
    return Capacity(view.engine, view.max_nodes)


def refuse_if_too_large(node_count: int, max_nodes: int, target: str) -> None:
    if node_count > max_nodes:
        raise InvalidInput(
            f"the run asks for {node_count} nodes and {target!r} has at most {max_nodes}",
            f"lower node_count, or raise max_nodes of {target!r}",
        )
