"""How many nodes a compute target may use at once, what they are like, and which engine starts them."""

from __future__ import annotations

import os
from dataclasses import dataclass

from footplate.domain.shapes import shape_of
from footplate.domain.specs import LOCAL
from footplate.errors import InvalidInput, NotFound
from footplate.storage import Storage


@dataclass(frozen=True)
class Capacity:
    """`gpus`: how many its machine size has; None when it names none that is known. `yields`: others come first."""

    engine: str
    max_nodes: int
    gpus: int | None = None
    yields: bool = False


def local_slots() -> int:
    """How many runs share the server's own machine. More than its cores would only make each of them slower."""
    return max(4, os.cpu_count() or 1)


def capacity_of(store: Storage, workspace: str, target: str) -> Capacity:
    if target == LOCAL:
        return Capacity("local", local_slots())
    try:
        view = store.computes.get(workspace, target)
    except NotFound:
        raise NotFound(
            f"there is no compute target {target!r} in this workspace",
            "see those that exist with: footplate compute list",
        ) from None
    shape = shape_of(str(view.options.get("vm_size") or ""))
    yields = str(view.options.get("vm_priority") or "").lower() == "lowpriority"
    return Capacity(view.engine, view.max_nodes, None if shape is None else shape.gpus, yields)


def refuse_if_too_large(node_count: int, max_nodes: int, target: str) -> None:
    if node_count > max_nodes:
        raise InvalidInput(
            f"the run asks for {node_count} nodes and {target!r} has at most {max_nodes}",
            f"lower node_count, or raise max_nodes of {target!r}",
        )
