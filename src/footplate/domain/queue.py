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
from heapq import merge
from typing import DefaultDict, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from footplate.domain.text import counted

_HORIZON = 10 * 365 * 86400.0
"""The assumed duration of a run without a time limit: long, but finite. Otherwise a run that waits for it would have no
place in the plan and would be overtaken for ever.
"""

_CLOSING = 60.0
"""How long a run that has reached its time limit may still take to finish."""

_LOOK_AHEAD = 100
"""How many runs of a queue are planned. Later ones wait behind them all, so that a decision costs the same however many
wait.
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
    """A waiting run. Tickets are served in the order of `rank`."""

    run: str
    queue: str
    nodes: int
    priority: int
    arrived: float
    seconds: Optional[float] = None  # its time limit
    gpus: int = 0


@dataclass(frozen=True)
class Allocation:
    """A run that has nodes, and the latest end by its time limit; None if it has no limit.

    One allocation may stand for several runs of a queue that end together and have no GPUs.
    """

    run: str
    queue: str
    nodes: int
    ends: Optional[float] = None
    gpus: int = 0


@dataclass(frozen=True)
class Wait:
    run: str
    position: int  # in its queue
    reason: str
    promised: Optional[float] = None  # the latest start as things are now; None if it cannot be known


Rank = Tuple[int, float, str]


def rank(priority: int, arrived: float, run: str) -> Rank:
    """Return the sort key of a waiting run: higher priorities first, then first come, first served."""
    return -priority, arrived, run


def admit(
    waiting: Mapping[str, Iterable[Ticket]],
    holding: Sequence[Allocation],
    queues: Mapping[str, TargetQueue],
    now: float,
    gpus: int = 0,
) -> Decision:
    """Decide about the waiting runs, given by queue in the order of `rank`. Only those that are planned are read.

    A run that cannot fit at all (its target was made smaller) does not block others. The queue does not refuse more
    GPUs than exist: such a run starts and fails with an explanation.
    """
    planner = _Planner(holding, queues, gpus, now)
    decision = Decision(planner)
    planned = [planner.take_until_full(name, tickets) for name, tickets in waiting.items()]
    for ticket in merge(*planned, key=lambda t: (queues[t.queue].yields, *rank(t.priority, t.arrived, t.run))):
        wait = planner.call(ticket)
        if wait is None:
            decision.started.append(ticket.run)
        else:
            decision.waits[ticket.run] = wait
    return decision


class Decision:
    """The runs to start now, in order, and the position and the reason of each planned run that waits."""

    def __init__(self, planner: _Planner) -> None:
        self.started: List[str] = []
        self.waits: Dict[str, Wait] = {}
        self._planner = planner

    def wait_of(self, ticket: Ticket, position: int) -> Optional[Wait]:
        """Return the reason of a waiting run; None if it came later than this decision.

        `position`: its present place in the queue, for a run behind the planned ones.
        """
        return self.waits.get(ticket.run) or self._planner.explain(ticket, position)


class _Planner:
    """All queues: resources in use, the order of the waiting runs, and the plan."""

    def __init__(self, holding: Sequence[Allocation], queues: Mapping[str, TargetQueue], gpus: int, now: float) -> None:
        self._queues = queues
        self._gpus = gpus
        self._now = now
        self._plan = _Plan({_GPUS: gpus, **{name: queue.max_nodes for name, queue in queues.items()}}, now)
        self._busy: DefaultDict[str, int] = defaultdict(int)
        self._users: Dict[str, int] = {}  # number of GPUs by run, for runs that have some
        self._ahead: DefaultDict[str, List[str]] = defaultdict(list)  # runs that wait in this queue, or for GPUs
        self._places: DefaultDict[str, int] = defaultdict(int)
        for allocation in holding:
            amounts = {allocation.queue: allocation.nodes, _GPUS: allocation.gpus}
            self._plan.take(now, _expected_end(allocation, now), amounts)
            self._seat(allocation.run, allocation.queue, allocation.nodes, allocation.gpus)

    def take_until_full(self, queue: str, tickets: Iterable[Ticket]) -> Iterator[Ticket]:
        """Yield the runs of a queue until enough of them wait."""
        for ticket in tickets:
            if self._is_full(queue):
                return
            yield ticket

    def _is_full(self, queue: str) -> bool:
        return len(self._ahead[queue]) >= _LOOK_AHEAD

    def call(self, ticket: Ticket) -> Optional[Wait]:
        """Return None when the ticket may start, otherwise how long it waits and why."""
        if self._is_impossible(ticket):
            return self._wait(ticket, self._why_impossible(ticket))
        gpus = self._gpus_for(ticket)
        seconds = 2 * _HORIZON if ticket.seconds is None else ticket.seconds + _CLOSING
        begins = self._plan.reserve({ticket.queue: ticket.nodes, _GPUS: gpus}, seconds)
        if begins <= self._now:
            self._seat(ticket.run, ticket.queue, ticket.nodes, gpus)
            return None
        wait = self._wait(ticket, self._reason(ticket, gpus), begins if begins < self._now + _HORIZON / 2 else None)
        self._ahead[ticket.queue].append(ticket.run)
        if gpus:
            self._ahead[_GPUS].append(ticket.run)
        return wait

    def explain(self, ticket: Ticket, position: int) -> Optional[Wait]:
        """Return why a run waits that is behind all planned ones; None if all were planned."""
        if not self._is_full(ticket.queue):
            return None
        if self._is_impossible(ticket):
            return Wait(ticket.run, position, self._why_impossible(ticket))
        return Wait(ticket.run, position, self._reason(ticket, self._gpus_for(ticket), position - 1))

    def _gpus_for(self, ticket: Ticket) -> int:
        return ticket.gpus if ticket.gpus <= self._gpus else 0

    def _is_impossible(self, ticket: Ticket) -> bool:
        return ticket.nodes > self._queues[ticket.queue].max_nodes

    def _seat(self, run: str, queue: str, nodes: int, gpus: int) -> None:
        self._busy[queue] += nodes
        if gpus:
            self._users[run] = gpus

    def _wait(self, ticket: Ticket, reason: str, promised: Optional[float] = None) -> Wait:
        self._places[ticket.queue] += 1
        return Wait(ticket.run, self._places[ticket.queue], reason, promised)

    # ── Reasons ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _why_impossible(self, ticket: Ticket) -> str:
        queue = self._queues[ticket.queue]
        return f"it needs {counted(ticket.nodes, 'node')} and {queue.target!r} has at most {queue.max_nodes}"

    def _reason(self, ticket: Ticket, gpus: int, behind: Optional[int] = None) -> str:
        """Return why it waits. `behind`: the number of runs before a run that is not planned."""
        queue, busy = self._queues[ticket.queue], self._busy[ticket.queue]
        reasons: List[str] = []
        before = self._ahead[ticket.queue]
        if busy + ticket.nodes > queue.max_nodes:
            reasons.append(_nodes_busy(ticket, queue, busy))
        if gpus > self._gpus - sum(self._users.values()):
            before = before if reasons else self._ahead[_GPUS]
            reasons.append(self._gpus_used(gpus))
        if not reasons and behind is None:  # it would fit
            limit = "a time limit" if ticket.seconds is None else "a shorter time limit"
            whom = _name_runs(before or self._ahead[_GPUS])
            return f"it could delay {whom}, ahead of it in the queue: {limit} may let it go first"
        count = len(before) if behind is None else behind
        if count:
            waits = f"{counted(count, 'run')} {'waits' if count == 1 else 'wait'} before it"
            reasons.append(f"and {waits}" if reasons else waits)
        return ", ".join(reasons)

    def _gpus_used(self, count: int) -> str:
        used = sum(self._users.values())
        which = "the only one is" if self._gpus == 1 else f"{used} of {self._gpus} are"
        return f"it needs {counted(count, 'GPU')} and {which} used by {_name_runs(list(self._users))}"


class _Plan:
    """The free resources over time, if every run uses its whole time limit."""

    def __init__(self, sizes: Mapping[str, int], now: float) -> None:
        self._times: List[float] = [now]
        self._free: List[Dict[str, int]] = [dict(sizes)]

    def reserve(self, needs: Mapping[str, int], seconds: float) -> float:
        """Reserve the resources as early as possible without touching earlier reservations; return the time."""
        amounts = [(name, count) for name, count in needs.items() if count]
        first = index = 0
        while index < len(self._times) and self._times[index] < self._times[first] + seconds:
            free = self._free[index]
            if any(free[name] < count for name, count in amounts):
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


def _expected_end(allocation: Allocation, now: float) -> float:
    """Return the expected end. It does not change until it has passed, so that promises do not move with the clock."""
    if allocation.ends is None:
        return now + _HORIZON
    return allocation.ends + _CLOSING if allocation.ends + _CLOSING > now else now + _CLOSING


def _nodes_busy(ticket: Ticket, queue: TargetQueue, busy: int) -> str:
    if busy > queue.max_nodes:  # its target was made smaller
        return f"{counted(busy, 'node')} of {queue.target!r} are busy, and it may have no more than {queue.max_nodes}"
    reasons = f"{busy} of {counted(queue.max_nodes, 'node')} of {queue.target!r} {'is' if busy == 1 else 'are'} busy"
    return f"{reasons}, it needs {ticket.nodes}" if ticket.nodes > 1 else reasons


def _name_runs(runs: List[str]) -> str:
    """Return the first two by name and the number of the others."""
    more = len(runs) - 2
    return " and ".join(runs) if more <= 0 else f"{', '.join(runs[:2])} and {more} more"
