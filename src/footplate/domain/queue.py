"""Who runs next on a compute target: a pure decision over what waits and what runs.

First in, first out, the more urgent before the less; and behind a run that must wait, small ones may go first as long
as that delays nobody: everybody in the line has a promise, the time at which at the latest it gets its nodes if all
before it use the whole of their time limits, and a run starts early only if every promise made before is kept.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple

_HORIZON = 10 * 365 * 86400.0
"""What has no time limit is expected to end then: late, but not never, or a run that waits for it had no promise, and
would be overtaken for ever."""

_CLOSING = 60.0
"""How long a run that has reached its limit may still take to hand over."""

_LOOK_AHEAD = 100
"""So many have promises. Who comes later waits behind them all: a line of thousands must stay cheap to look at."""


@dataclass(frozen=True)
class Ticket:
    """A waiting run. Tickets are served by priority (higher first), then by arrival."""

    run: str
    nodes: int
    priority: int
    arrived: float
    seconds: Optional[float] = None  # its time limit


@dataclass(frozen=True)
class Holding:
    """A run that has nodes, and when its time limit ends them at the latest; None when it has no limit."""

    run: str
    nodes: int
    ends: Optional[float] = None


@dataclass(frozen=True)
class Wait:
    run: str
    position: int
    reason: str
    promised: Optional[float] = None  # when it starts at the latest; None when that cannot be told


def admit(
    waiting: Sequence[Ticket], holding: Sequence[Holding], max_nodes: int, target: str, now: float
) -> Tuple[List[str], List[Wait]]:
    """The runs to start now, in order, and for each of the others its position and the reason, in words.

    A run that cannot fit at all (its target has been made smaller) holds up nobody.
    """
    started: List[str] = []
    waits: List[Wait] = []
    plan = _Plan(holding, max_nodes, now)
    busy, ahead = sum(held.nodes for held in holding), 0
    for ticket in sorted(waiting, key=lambda t: (-t.priority, t.arrived, t.run)):
        if ticket.nodes > max_nodes:
            reason = f"it needs {_nodes(ticket.nodes)} and {target!r} has at most {max_nodes}"
            waits.append(Wait(ticket.run, len(waits) + 1, reason))
            continue
        begins = plan.reserve(ticket) if ahead < _LOOK_AHEAD else now + _HORIZON
        if begins <= now:
            started.append(ticket.run)
            busy += ticket.nodes
            continue
        promised = begins if begins < now + _HORIZON / 2 else None
        waits.append(Wait(ticket.run, len(waits) + 1, _reason(ticket, busy, max_nodes, target, ahead), promised))
        ahead += 1
    return started, waits


class _Plan:
    """How many nodes are free from when on, if everybody uses the whole of his time."""

    def __init__(self, holding: Sequence[Holding], max_nodes: int, now: float) -> None:
        self._now = now
        self._times: List[float] = [now]
        self._free: List[int] = [max_nodes]
        for held in holding:
            ends = now + _HORIZON if held.ends is None else max(held.ends, now + _CLOSING)
            self._take(now, ends, held.nodes)

    def reserve(self, ticket: Ticket) -> float:
        """Give the ticket its nodes as early as possible without taking any that were given before."""
        seconds = 2 * _HORIZON if ticket.seconds is None else ticket.seconds + _CLOSING
        first = index = 0
        while index < len(self._times) and self._times[index] < self._times[first] + seconds:
            if self._free[index] < ticket.nodes:
                first = index + 1
            index += 1
        begins = self._times[first]
        self._take(begins, begins + seconds, ticket.nodes)
        return begins

    def _take(self, begins: float, ends: float, nodes: int) -> None:
        for time in (begins, ends):
            self._cut(time)
        for index, time in enumerate(self._times):
            if begins <= time < ends:
                self._free[index] -= nodes

    def _cut(self, time: float) -> None:
        index = bisect_right(self._times, time)
        if self._times[index - 1] != time:
            self._times.insert(index, time)
            self._free.insert(index, self._free[index - 1])


def _reason(ticket: Ticket, busy: int, max_nodes: int, target: str, ahead: int) -> str:
    words = f"{busy} of {_nodes(max_nodes)} of {target!r} {'is' if busy == 1 else 'are'} busy"
    if ticket.nodes > 1:
        words += f", it needs {ticket.nodes}"
    if ahead:
        words += f", and {ahead} {'run waits' if ahead == 1 else 'runs wait'} before it"
    return words


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"
