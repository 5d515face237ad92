"""Decide which runs start next, given the waiting and the running ones, over nodes of compute targets and one set of
GPUs.

First in, first out, higher priorities first, with backfill: a small run may overtake a waiting one only if that delays
nobody. Whenever something changes, a new plan gives all waiting runs their nodes and GPUs, in queue order, each as
early as possible if all running ones use their whole time limits. Runs that begin now in the plan start; for the others
the plan gives the latest start. That is a promise to the first in the queue. Those behind it may get another time when
a run before them can start earlier than planned, but never because of a run that came after them.
Each target has its own queue and its own nodes. The runs of all queues share the GPUs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from typing import DefaultDict, Dict, List, Mapping, Optional, Sequence, Tuple

_HORIZON = 10 * 365 * 86400.0
"""The assumed duration of a run without a time limit: long, but finite. Otherwise a run that waits for it would have no
place in the plan and would be overtaken for ever.
"""

_CLOSING = 60.0
"""How long a run that has reached its time limit may still take to finish."""

_LOOK_AHEAD = 100
"""How many runs of a queue are planned.

Later ones wait behind them all, so that thousands of waiting runs stay cheap.
"""

_GPUS = ""
"""The name of the shared GPUs in the plan, next to the names of the queues."""


@dataclass(frozen=True)
class TargetQueue:
    """The queue of a compute target. `yields`: runs of other targets that want the same GPUs come first."""

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
    """A run that has nodes, and the latest end by its time limit; None if it has no limit."""

    run: str
    line: str
    nodes: int
    ends: Optional[float] = None
    gpus: int = 0


@dataclass(frozen=True)
class Wait:
    run: str
    position: int  # in its queue
    reason: str
    promised: Optional[float] = None  # the latest start as things are now; None if it cannot be known


def admit(
    waiting: Sequence[Ticket],
    holding: Sequence[Allocation],
    lines: Mapping[str, TargetQueue],
    now: float,
    gpus: int = 0,
) -> Tuple[List[str], List[Wait]]:
    """Return the runs to start now, in order, and the position and the reason of each run that waits.

    A run that cannot fit at all (its target was made smaller) does not block others. The queue does not refuse more
    GPUs than exist: such a run starts and fails with an explanation.
    """
    started: List[str] = []
    waits: List[Wait] = []
    queues = _Queues(holding, lines, gpus, now)
    for ticket in sorted(waiting, key=lambda t: (lines[t.line].yields, -t.priority, t.arrived, t.run)):
        wait = queues.call(ticket)
        if wait is None:
            started.append(ticket.run)
        else:
            waits.append(wait)
    return started, waits


class _Queues:
    """All queues: resources in use, the order of the waiting runs, and the plan."""

    def __init__(self, holding: Sequence[Allocation], lines: Mapping[str, TargetQueue], gpus: int, now: float) -> None:
        self._lines = lines
        self._gpus = gpus
        self._now = now
        self._plan = _Plan({_GPUS: gpus, **{name: line.max_nodes for name, line in lines.items()}}, now)
        self._busy: DefaultDict[str, int] = defaultdict(int)
        self._users: Dict[str, int] = {}  # number of GPUs by run, for runs that have some
        self._ahead: DefaultDict[str, List[str]] = defaultdict(list)  # runs that wait in this queue, or for GPUs
        self._places: DefaultDict[str, int] = defaultdict(int)
        for held in holding:
            self._plan.take(now, _expected_end(held, now), {held.line: held.nodes, _GPUS: held.gpus})
            self._seat(held.run, held.line, held.nodes, held.gpus)

    def call(self, ticket: Ticket) -> Optional[Wait]:
        """Return None when the ticket may start, otherwise how long it waits and why."""
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

    # ── Reasons ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _reason(self, ticket: Ticket, gpus: int) -> str:
        line, busy = self._lines[ticket.line], self._busy[ticket.line]
        reasons: List[str] = []
        before = self._ahead[ticket.line]
        if busy + ticket.nodes > line.max_nodes:
            reasons.append(_nodes_busy(ticket, line, busy))
        if gpus > self._gpus - sum(self._users.values()):
            before = before if reasons else self._ahead[_GPUS]
            reasons.append(self._gpus_used(gpus))
        if not reasons and len(before) < _LOOK_AHEAD:  # it would fit
            limit = "a time limit" if ticket.seconds is None else "a shorter time limit"
            whom = _listed(before or self._ahead[_GPUS])
            return f"it could delay {whom}, ahead of it in the queue: {limit} may let it go first"
        if before:
            waits = f"{_count(len(before), 'run')} {'waits' if len(before) == 1 else 'wait'} before it"
            reasons.append(f"and {waits}" if reasons else waits)
        return ", ".join(reasons)

    def _gpus_used(self, wanted: int) -> str:
        used = sum(self._users.values())
        which = "the only one is" if self._gpus == 1 else f"{used} of {self._gpus} are"
        return f"it needs {_count(wanted, 'GPU')} and {which} used by {_listed(list(self._users))}"


class _Plan:
    """The free resources over time, if every run uses its whole time limit."""

    def __init__(self, sizes: Mapping[str, int], now: float) -> None:
        self._times: List[float] = [now]
        self._free: List[Dict[str, int]] = [dict(sizes)]

    def reserve(self, needs: Mapping[str, int], seconds: float) -> float:
        """Reserve the resources as early as possible without touching earlier reservations; return the time."""
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
    """Return the expected end. It does not change until it has passed, so that promises do not move with the clock."""
    if held.ends is None:
        return now + _HORIZON
    return held.ends + _CLOSING if held.ends + _CLOSING > now else now + _CLOSING


def _nodes_busy(ticket: Ticket, line: TargetQueue, busy: int) -> str:
    if busy > line.max_nodes:  # its target was made smaller
        return f"{_count(busy, 'node')} of {line.target!r} are busy, and it may have no more than {line.max_nodes}"
    reasons = f"{busy} of {_count(line.max_nodes, 'node')} of {line.target!r} {'is' if busy == 1 else 'are'} busy"
    return f"{reasons}, it needs {ticket.nodes}" if ticket.nodes > 1 else reasons


def _listed(runs: List[str]) -> str:
    """Return the first two by name and the number of the others."""
    shown, more = runs[:2], len(runs) - 2
    return " and ".join(shown) if more <= 0 else f"{', '.join(shown)} and {more} more"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
