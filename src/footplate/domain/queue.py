"""Who runs next on a compute target: a pure decision over what waits and what runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Sequence, Tuple


@dataclass(frozen=True)
class Ticket:
    """A waiting run. Tickets are served by priority (higher first), then by arrival."""

    run: str
    nodes: int
    priority: int
    arrived: float


@dataclass(frozen=True)
class Wait:
    run: str
    position: int
    reason: str


def admit(waiting: Sequence[Ticket], busy: int, max_nodes: int, target: str) -> Tuple[List[str], List[Wait]]:
    """The runs to start now, in order, and for each of the others its position and the reason, in words."""
    free, started, waits = max_nodes - busy, [], []  # type: int, List[str], List[Wait]
    line = sorted(waiting, key=lambda t: (-t.priority, t.arrived, t.run))
    for ticket in line:
        if not waits and ticket.nodes <= free:
            started.append(ticket.run)
            free -= ticket.nodes
            continue
        waits.append(Wait(ticket.run, len(waits) + 1, _reason(ticket, free, max_nodes, target, len(waits))))
    return started, waits


def _reason(ticket: Ticket, free: int, max_nodes: int, target: str, ahead: int) -> str:
    if ticket.nodes > max_nodes:
        return f"it needs {_nodes(ticket.nodes)} and {target!r} has at most {max_nodes}"
    busy = f"{max_nodes - free} of {_nodes(max_nodes)} of {target!r} {'is' if max_nodes - free == 1 else 'are'} busy"
    if ahead:
        return f"{busy}, and {ahead} {'run waits' if ahead == 1 else 'runs wait'} before it"
    return f"{busy}, and it needs {_nodes(ticket.nodes)}" if ticket.nodes > 1 else busy


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"
