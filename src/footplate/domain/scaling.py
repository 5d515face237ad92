"""Derive the number of nodes of a cluster from the stays of its runs, its limits and the clock.

A node exists while a run has it and for `idle_seconds` after that, and a run takes the nodes first that became idle
last. So there are as many nodes as were busy at once within the last `idle_seconds`, and never fewer than `min_nodes`.
The current limits are assumed to have applied always. Engines that rent machines follow this; the local engine only
accounts for it, because an idle agent would start no faster than its nursery does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple


@dataclass(frozen=True)
class Stay:
    """The time of a run on its nodes; `ended` is None while it has them.

    `coming`: how many of them the engine is still starting. `running`: on how many the script runs.
    """

    nodes: int
    began: float
    ended: Optional[float] = None
    coming: int = 0
    running: int = 0


@dataclass(frozen=True)
class Sizes:
    min_nodes: int
    max_nodes: int
    idle_seconds: float


@dataclass(frozen=True)
class Nodes:
    """The nodes that a cluster has now and should have. `changed`: when their number last changed; None if that is too
    long ago to know.
    """

    current: int
    target: int
    preparing: int
    running: int
    idle: int
    changed: Optional[float] = None


def count(stays: Sequence[Stay], sizes: Sizes, now: float) -> Nodes:
    """Count the nodes. `stays` must cover `idle_seconds`; with twice that, `changed` is known for as long."""
    fleet = _Fleet(sizes)
    moves: List[Tuple[float, int, Stay]] = [(stay.began, 1, stay) for stay in stays]
    moves += [(stay.ended, 0, stay) for stay in stays if stay.ended is not None]
    for time, begins, stay in sorted(moves, key=lambda move: move[:2]):
        fleet.age(time)
        if begins:
            fleet.take(stay, time)
        else:
            fleet.give_back(stay, time)
    fleet.age(now)
    return fleet.count_nodes(sum(stay.running for stay in stays if stay.ended is None))


class _Fleet:
    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        self._idle: List[float] = [float("-inf")] * sizes.min_nodes  # idle since, the longest first
        self._busy = 0
        self._coming = 0
        self._changed: Optional[float] = None

    def age(self, time: float) -> None:
        """Remove nodes that have been idle for too long."""
        while self._idle and self._busy + len(self._idle) > self._sizes.min_nodes:
            leaves = self._idle[0] + self._sizes.idle_seconds
            if leaves > time:
                break
            del self._idle[0]
            self._changed = leaves

    def take(self, stay: Stay, time: float) -> None:
        warm = min(len(self._idle), stay.nodes)
        del self._idle[len(self._idle) - warm :]
        self._busy += stay.nodes
        self._coming += min(stay.coming, stay.nodes - warm)
        if stay.nodes > warm:
            self._changed = time

    def give_back(self, stay: Stay, time: float) -> None:
        self._busy -= stay.nodes
        self._idle += [time] * stay.nodes

    def count_nodes(self, running: int) -> Nodes:
        allowed = max(0, self._sizes.max_nodes - self._busy)
        idle = min(len(self._idle), allowed)
        current = self._busy + idle - self._coming
        preparing = self._busy - running - self._coming
        target = min(self._busy + idle, self._sizes.max_nodes)
        return Nodes(current, target, preparing, running, idle, self._changed)
