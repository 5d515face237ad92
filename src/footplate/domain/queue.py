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
    """The runs to start now, in order, and for each of the others its position and the reason, in words.

    Nobody overtakes: a small run waits behind a large one, or the large one would wait for ever. Only a run that cannot
    fit at all (its target has been made smaller) holds up nobody.
    """
    started: List[str] = []
    waits: List[Wait] = []
    free, ahead = max_nodes - busy, 0
    line = sorted(waiting, key=lambda t: (-t.priority, t.arrived, t.run))
    for ticket in line:
        if not ahead and ticket.nodes <= free:
            started.append(ticket.run)
            free -= ticket.nodes
            continue
        waits.append(Wait(ticket.run, len(waits) + 1, _reason(ticket, free, max_nodes, target, ahead)))
        ahead += ticket.nodes <= max_nodes
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
