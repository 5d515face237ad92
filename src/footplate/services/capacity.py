"""The capacity of a compute target: how many nodes it may use at once, their shape, and its engine."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from footplate.domain.records import ComputeView
from footplate.domain.shapes import Shape, shape_of
from footplate.domain.targets import LOCAL, SERVICES
from footplate.errors import NotFound
from footplate.storage import Storage

SERVICE_SLOTS = 10_000
"""Replicas of web services on the server's machine: they never wait for a slot."""


@dataclass(frozen=True)
class Capacity:
    """The capacity of a target. `cpus`, `memory` (GiB) and `gpus`: those of a node, None if the target names none.
    `yields`: other targets come first.
    """

    engine: str
    max_nodes: int
    cpus: int | None = None
    memory: float | None = None
    gpus: int | None = None
    yields: bool = False
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def shape(self) -> Shape | None:
        """Return the least machine that is such a node; None if the target describes none."""
        if self.cpus is None and self.memory is None and self.gpus is None:
            return None
        return Shape(self.cpus or 0, self.memory or 0.0, self.gpus or 0)


@functools.cache
def local_slots() -> int:
    """Return how many runs share the server's own machine. More than its cores would only slow each of them down."""
    return max(4, os.cpu_count() or 1)


def capacity_of(store: Storage, workspace: str, target: str) -> Capacity:
    if target == LOCAL:
        return Capacity(LOCAL, local_slots())
    if target == SERVICES:
        return Capacity(LOCAL, SERVICE_SLOTS)
    try:
        view = store.computes.get(workspace, target)
    except NotFound:
        raise NotFound(
            f"there is no compute target {target!r} in this workspace",
            "see those that exist with: footplate compute list",
        ) from None
    return capacity_from(view)


def capacity_from(view: ComputeView) -> Capacity:
    """Return the capacity that a target describes. Numbers of a node come before its machine size."""
    options = view.options
    shape = shape_of(str(options.get("vm_size") or ""))
    amounts = {name: options.get(name, getattr(shape, name, None)) for name in ("cpus", "memory", "gpus")}
    yields = str(options.get("vm_priority") or "").lower() == "lowpriority"
    return Capacity(view.engine, view.max_nodes, **amounts, yields=yields, options=options)
