"""Who runs next: a pure decision over what waits and what runs, on nodes of compute targets and GPUs of one machine.

First in, first out, the more urgent before the less; and behind a run that must wait, small ones may go first as long
as that delays nobody. Whenever something changes, all are given their nodes and GPUs anew in a plan, in the order of
the line, each as early as is possible if all that run use the whole of their time limits. Who begins now in the plan
starts; for the others it tells by when they do. That is a promise to the first in line. Those behind may get another
time when somebody before them can start earlier than planned, never because of somebody who came after them.
Each target has its own line and its own nodes. The GPUs are one pot, from which the runs of all lines take.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from typing import DefaultDict, Dict, List, Mapping, Optional, Sequence, Tuple

_HORIZON = 10 * 365 * 86400.0
"""What has no time limit is expected to end then: late, but not never, or a run that waits for it had no place in the
plan, and would be overtaken for ever."""

_CLOSING = 60.0
"""How long a run that has reached its limit may still take to hand over."""

_LOOK_AHEAD = 100
"""So many of a line are in the plan. Who comes later waits behind them all: thousands must stay cheap to look at."""

_GPUS = ""
"""The name of the pot in the plan, where the others are names of lines."""


@dataclass(frozen=True)
class TargetQueue:
    """A compute target. `yields`: where others want the same GPUs, they come first."""

    target: str
    max_nodes: int
    yields: bool = False


@dataclass(frozen=True)
class Ticket:
    """A waiting run. Tickets are served by priority (higher first), then by arrival."""

    run: str
    line: str
    nodes: int
    priority: int
    arrived: float
    seconds: Optional[float] = None  # its time limit
    gpus: int = 0


@dataclass(frozen=True)
class Allocation:
    """A run that has nodes, and when its time limit ends them at the latest; None when it has no limit."""

    run: str
    line: str
    nodes: int
    ends: Optional[float] = None
    gpus: int = 0


@dataclass(frozen=True)
class Wait:
    run: str
    position: int  # in its line
    reason: str
    promised: Optional[float] = None  # when it starts at the latest, as things stand; None when that cannot be told


def admit(
    waiting: Sequence[Ticket],
    holding: Sequence[Allocation],
    lines: Mapping[str, TargetQueue],
    now: float,
    gpus: int = 0,
) -> Tuple[List[str], List[Wait]]:
    """The runs to start now, in order, and for each of the others its position and the reason, in words.

    A run that cannot fit at all (its target has been made smaller) holds up nobody. More GPUs than there are is not for
    the queue to refuse: such a run starts, and is told where it would have them.
    """
    started: List[str] = []
    waits: List[Wait] = []
    hall = _Hall(holding, lines, gpus, now)
    for ticket in sorted(waiting, key=lambda t: (lines[t.line].yields, -t.priority, t.arrived, t.run)):
        wait = hall.call(ticket)
        if wait is None:
            started.append(ticket.run)
        else:
            waits.append(wait)
    return started, waits


class _Hall:
    """Where all lines wait: what is in use, who stands before whom, and the plan."""

    def __init__(self, holding: Sequence[Allocation], lines: Mapping[str, TargetQueue], gpus: int, now: float) -> None:
        self._lines = lines
        self._gpus = gpus
        self._now = now
        self._plan = _Plan({_GPUS: gpus, **{name: line.max_nodes for name, line in lines.items()}}, now)
        self._busy: DefaultDict[str, int] = defaultdict(int)
        self._users: Dict[str, int] = {}  # how many GPUs each run has that has any
        self._ahead: DefaultDict[str, List[str]] = defaultdict(list)  # who waits in this line, or for GPUs
        self._places: DefaultDict[str, int] = defaultdict(int)
        for held in holding:
            self._plan.take(now, _expected_end(held, now), {held.line: held.nodes, _GPUS: held.gpus})
            self._seat(held.run, held.line, held.nodes, held.gpus)

    def call(self, ticket: Ticket) -> Optional[Wait]:
        """None when the ticket's turn has come."""
        line = self._lines[ticket.line]
        if ticket.nodes > line.max_nodes:
            reason = f"it needs {_count(ticket.nodes, 'node')} and {line.target!r} has at most {line.max_nodes}"
            return self._wait(ticket, reason)
        gpus = ticket.gpus if ticket.gpus <= self._gpus else 0
        ahead = self._ahead[ticket.line]
        begins = self._now + _HORIZON
        if len(ahead) < _LOOK_AHEAD:
            seconds = 2 * _HORIZON if ticket.seconds is None else ticket.seconds + _CLOSING
            begins = self._plan.reserve({ticket.line: ticket.nodes, _GPUS: gpus}, seconds)
        if begins <= self._now:
            self._seat(ticket.run, ticket.line, ticket.nodes, gpus)
            return None
        wait = self._wait(ticket, self._reason(ticket, gpus), begins if begins < self._now + _HORIZON / 2 else None)
        ahead.append(ticket.run)
        if gpus:
            self._ahead[_GPUS].append(ticket.run)
        return wait

    def _seat(self, run: str, line: str, nodes: int, gpus: int) -> None:
        self._busy[line] += nodes
        if gpus:
            self._users[run] = gpus

    def _wait(self, ticket: Ticket, reason: str, promised: Optional[float] = None) -> Wait:
        self._places[ticket.line] += 1
        return Wait(ticket.run, self._places[ticket.line], reason, promised)

    # ── In words ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _reason(self, ticket: Ticket, gpus: int) -> str:
        line, busy = self._lines[ticket.line], self._busy[ticket.line]
        words: List[str] = []
        before = self._ahead[ticket.line]
        if busy + ticket.nodes > line.max_nodes:
            words.append(_nodes_busy(ticket, line, busy))
        if gpus > self._gpus - sum(self._users.values()):
            before = before if words else self._ahead[_GPUS]
            words.append(self._gpus_used(gpus))
        if not words and len(before) < _LOOK_AHEAD:  # it would fit
            limit = "a time limit" if ticket.seconds is None else "a shorter time limit"
            who = _listed(before or self._ahead[_GPUS])
            return f"it could delay {who}, before it in the line: {limit} may let it go first"
        if before:
            waits = f"{_count(len(before), 'run')} {'waits' if len(before) == 1 else 'wait'} before it"
            words.append(f"and {waits}" if words else waits)
        return ", ".join(words)

    def _gpus_used(self, wanted: int) -> str:
        used = sum(self._users.values())
        which = "the only one is" if self._gpus == 1 else f"{used} of {self._gpus} are"
        return f"it needs {_count(wanted, 'GPU')} and {which} used by {_listed(list(self._users))}"


class _Plan:
    """How much of everything is free from when on, if everybody uses the whole of his time."""

    def __init__(self, sizes: Mapping[str, int], now: float) -> None:
        self._times: List[float] = [now]
        self._free: List[Dict[str, int]] = [dict(sizes)]

    def reserve(self, needs: Mapping[str, int], seconds: float) -> float:
        """Give what is needed as early as possible without taking any that was given before; answers when."""
        wanted = [(name, count) for name, count in needs.items() if count]
        first = index = 0
        while index < len(self._times) and self._times[index] < self._times[first] + seconds:
            free = self._free[index]
            if any(free[name] < count for name, count in wanted):
                first = index + 1
            index += 1
        begins = self._times[first]
        self.take(begins, begins + seconds, needs)
        return begins

    def take(self, begins: float, ends: float, needs: Mapping[str, int]) -> None:
        for time in (begins, ends):
            self._cut(time)
        for index, time in enumerate(self._times):
            if begins <= time < ends:
                for name, count in needs.items():
                    self._free[index][name] -= count

    def _cut(self, time: float) -> None:
        index = bisect_right(self._times, time)
        if self._times[index - 1] != time:
            self._times.insert(index, time)
            self._free.insert(index, dict(self._free[index - 1]))


def _expected_end(held: Allocation, now: float) -> float:
    """The same until it has passed, so that promises do not move with the clock."""
    if held.ends is None:
        return now + _HORIZON
    return held.ends + _CLOSING if held.ends + _CLOSING > now else now + _CLOSING


def _nodes_busy(ticket: Ticket, line: TargetQueue, busy: int) -> str:
    if busy > line.max_nodes:  # its target has been made smaller
        return f"{_count(busy, 'node')} of {line.target!r} are busy, and it may have no more than {line.max_nodes}"
    words = f"{busy} of {_count(line.max_nodes, 'node')} of {line.target!r} {'is' if busy == 1 else 'are'} busy"
    return f"{words}, it needs {ticket.nodes}" if ticket.nodes > 1 else words


def _listed(runs: List[str]) -> str:
    """The first two by name."""
    shown, more = runs[:2], len(runs) - 2
    return " and ".join(shown) if more <= 0 else f"{', '.join(shown)} and {more} more"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
