"""The decision which runs start next."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footplate.domain import queue
from footplate.domain.queue import Allocation, TargetQueue, Ticket, Wait

NOW = 1000.0


def admit(
    waiting: Sequence[Ticket],
    holding: Sequence[Allocation],
    lines: Mapping[str, TargetQueue],
    now: float,
    gpus: int = 0,
) -> tuple[list[str], list[Wait]]:
    """Return the runs that start, and the waits of all others, in the order of the queues."""
    ordered = sorted(waiting, key=lambda t: (lines[t.queue].yields, *queue.rank(t.priority, t.arrived, t.run)))
    by_line = {name: [t for t in ordered if t.queue == name] for name in lines}
    decision = queue.admit(by_line, holding, lines, now, gpus)
    left = [t for t in ordered if t.run not in decision.started]
    places = {t.run: i for name in lines for i, t in enumerate([t for t in left if t.queue == name], 1)}
    waits = [decision.wait_of(t, places[t.run]) for t in left]
    assert None not in waits
    return decision.started, [wait for wait in waits if wait is not None]


def ask(
    waiting: Sequence[Ticket], holding: Sequence[Allocation], size: int, now: float = NOW, gpus: int = 0
) -> tuple[list[str], list[Wait]]:
    """Return the decision for the queue of one target, `c`."""
    return admit(waiting, holding, {"c": TargetQueue("c", size)}, now, gpus)


def held(nodes: int) -> list[Allocation]:
    """Return that many busy nodes without a time limit."""
    return [Allocation("old", "c", nodes)] if nodes else []


def ticket(
    run: str, nodes: int = 1, arrived: float = 0.0, seconds: float | None = None, gpus: int = 0, queue: str = "c"
) -> Ticket:
    return Ticket(run, queue, nodes, 0, arrived, seconds, gpus)


def line(*nodes: int) -> list[Ticket]:
    return [ticket(f"r{i}", count, float(i)) for i, count in enumerate(nodes)]


@pytest.mark.parametrize(
    ("waiting", "busy", "size", "started", "waits"),
    [
        ([], 0, 4, [], []),
        (line(1), 0, 1, ["r0"], []),
        (line(1, 1, 1), 0, 4, ["r0", "r1", "r2"], []),
        (line(1), 1, 1, [], [Wait("r0", 1, "1 of 1 node of 'c' is busy")]),
        (line(3), 2, 4, [], [Wait("r0", 1, "2 of 4 nodes of 'c' are busy, it needs 3")]),
        (line(1), 3, 2, [], [Wait("r0", 1, "3 nodes of 'c' are busy, and it may have no more than 2")]),
        (
            line(1, 1, 1),
            0,
            1,
            ["r0"],
            [
                Wait("r1", 1, "1 of 1 node of 'c' is busy"),
                Wait("r2", 2, "1 of 1 node of 'c' is busy, and 1 run waits before it"),
            ],
        ),
        (
            line(3, 1, 1),
            2,
            4,
            ["r1"],  # whenever the two busy ones end, three are still left for the first in the queue
            [
                Wait("r0", 1, "2 of 4 nodes of 'c' are busy, it needs 3"),
                Wait("r2", 2, "it could delay r0, ahead of it in the queue: a time limit may let it go first"),
            ],
        ),
        (line(9, 1), 0, 4, ["r1"], [Wait("r0", 1, "it needs 9 nodes and 'c' has at most 4")]),
    ],
)
def test_runs_are_admitted_in_order_or_wait_with_a_reason(
    waiting: list[Ticket], busy: int, size: int, started: list[str], waits: list[Wait]
) -> None:
    assert ask(waiting, held(busy), size) == (started, waits)


def test_priority_comes_before_arrival() -> None:
    urgent = Ticket("urgent", "c", 1, 5, 2.0)
    started, waits = ask([ticket("early", arrived=1.0), urgent, ticket("late", arrived=3.0)], [], 1)
    assert started == ["urgent"]
    assert [w.run for w in waits] == ["early", "late"]


class TestBackfilling:
    """Four nodes; three are busy for another 100 seconds. The first in the queue needs all four."""

    BUSY = (Allocation("old", "c", 3, NOW + 100),)
    LARGE = ticket("large", 4, 1.0, 500.0)

    def ask(self, *others: Ticket) -> tuple[list[str], list[Wait]]:
        return ask([self.LARGE, *others], self.BUSY, 4)

    def test_a_short_run_overtakes_and_the_promise_stands(self) -> None:
        started, waits = self.ask(ticket("short", 1, 2.0, 30.0))
        assert started == ["short"]
        assert [(w.run, w.promised) for w in waits] == [("large", NOW + 160)]

    def test_a_longer_run_does_not_overtake(self) -> None:
        started, waits = self.ask(ticket("long", 1, 2.0, 3000.0), ticket("endless", 1, 3.0))
        assert started == []
        assert [w.run for w in waits] == ["large", "long", "endless"]
        assert waits[1].promised == NOW + 160 + 500 + 60
        assert "could delay large, ahead of it in the queue: a shorter time limit" in waits[1].reason

    def test_nodes_that_the_first_run_will_not_need_can_be_used(self) -> None:
        started, _ = ask([ticket("three", 3, 1.0, 500.0), ticket("endless", 1, 2.0)], self.BUSY, 4)
        assert started == ["endless"]

    def test_nobody_starves_behind_runs_without_limits(self) -> None:
        started, waits = ask([self.LARGE, ticket("endless", 1, 2.0)], [Allocation("old", "c", 3)], 4)
        assert (started, waits[0].promised) == ([], None)

    def test_a_run_beyond_its_limit_is_expected_to_end_soon(self) -> None:
        _, waits = ask([self.LARGE], [Allocation("late", "c", 1, NOW - 50)], 4)
        assert waits[0].promised == NOW + 10
        _, waits = ask([self.LARGE], [Allocation("hangs", "c", 1, NOW - 500)], 4)
        assert waits[0].promised == NOW + 60


class TestGpus:
    LINES: ClassVar = {"c": TargetQueue("c", 4), "d": TargetQueue("d", 4)}

    def ask(self, waiting: list[Ticket], holding: list[Allocation], gpus: int) -> tuple[list[str], list[Wait]]:
        return admit(waiting, holding, self.LINES, NOW, gpus)

    def test_a_run_waiting_for_gpus_holds_no_node_and_blocks_no_other(self) -> None:
        started, waits = self.ask(
            [ticket("wants", arrived=1.0, gpus=1), ticket("plain", arrived=2.0)], [Allocation("has", "c", 1, gpus=1)], 1
        )
        assert started == ["plain"]
        assert waits == [Wait("wants", 1, "it needs 1 GPU and the only one is used by has")]

    def test_queues_share_gpus_first_come_first_served(self) -> None:
        started, waits = self.ask(
            [ticket("small", arrived=2.0, gpus=1), ticket("large", arrived=1.0, gpus=2, queue="d")],
            [Allocation("has", "c", 1, gpus=1)],
            2,
        )
        assert started == []
        assert [(w.run, w.position) for w in waits] == [("large", 1), ("small", 1)]
        assert waits[0].reason == "it needs 2 GPUs and 1 of 2 are used by has"
        assert waits[1].reason == "it could delay large, ahead of it in the queue: a time limit may let it go first"

    def test_a_queue_that_yields_comes_after_the_others(self) -> None:
        lines = {"c": TargetQueue("c", 4, yields=True), "d": TargetQueue("d", 4)}
        waiting = [ticket("cheap", arrived=1.0, gpus=1), ticket("dear", arrived=2.0, gpus=1, queue="d")]
        assert admit(waiting, [], lines, NOW, 1)[0] == ["dear"]

    def test_nodes_and_gpus_may_both_be_missing(self) -> None:
        busy = [
            Allocation("has", "c", 2, gpus=2),
            Allocation("too", "c", 1, gpus=1),
            Allocation("more", "c", 1, gpus=1),
        ]
        _, waits = self.ask([ticket("wants", gpus=2)], busy, 4)
        assert waits[0].reason == (
            "4 of 4 nodes of 'c' are busy, it needs 2 GPUs and 4 of 4 are used by has, too and 1 more"
        )

    def test_the_queue_does_not_refuse_impossible_gpu_requests(self) -> None:
        assert self.ask([ticket("greedy", gpus=3)], [Allocation("has", "c", 1, gpus=2)], 2)[0] == ["greedy"]


def test_only_the_runs_that_are_planned_are_read() -> None:
    read: list[str] = []

    def endless() -> Iterator[Ticket]:
        for i in itertools.count():
            read.append(f"r{i:05}")
            yield ticket(read[-1], 1 + i % 7, float(i), 60.0 * (1 + i % 50))

    decision = queue.admit({"c": endless()}, [Allocation("old", "c", 8, NOW + 5000)], {"c": TargetQueue("c", 64)}, NOW)
    assert len(decision.waits) == 100 and len(decision.started) + 100 == len(read) - 1
    far = decision.wait_of(ticket("r9", 60), 5000)
    assert far is not None and (far.position, far.promised) == (5000, None)
    assert far.reason.endswith("it needs 60, and 4999 runs wait before it")


def test_a_decision_does_not_explain_a_run_that_came_later() -> None:
    decision = queue.admit({"c": [ticket("r1")]}, held(1), {"c": TargetQueue("c", 1)}, NOW)
    assert decision.wait_of(ticket("r2", arrived=1.0), 2) is None


def test_runs_that_end_together_can_be_one_allocation() -> None:
    waiting = [ticket("large", 8, 1.0, 500.0), ticket("small", 1, 2.0, 30.0)]
    many = [Allocation(f"h{i}", "c", 1, NOW + 100) for i in range(5)]
    assert ask(waiting, many, 8) == ask(waiting, [Allocation("", "c", 5, NOW + 100)], 8)


seconds = st.none() | st.integers(1, 500).map(float)
gpus = st.integers(0, 3)
lines = st.sampled_from(["c", "d"])
wishes = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 2), seconds, gpus, lines), max_size=12)
uses = st.lists(st.tuples(st.integers(1, 3), st.none() | st.integers(-50, 500), st.integers(0, 1), lines), max_size=4)
Wish = tuple[int, int, "float | None", int, str]
Use = tuple[int, "int | None", int, str]


def made(wanted: list[Wish]) -> list[Ticket]:
    return [
        Ticket(f"r{i:02}", at, n, priority, float(i), limit, gpus)
        for i, (n, priority, limit, gpus, at) in enumerate(wanted)
    ]


def busy_with(running: list[Use]) -> list[Allocation]:
    return [
        Allocation(f"h{i}", at, n, None if ends is None else NOW + ends, gpus)
        for i, (n, ends, gpus, at) in enumerate(running)
    ]


def both(size: int) -> dict[str, TargetQueue]:
    return {"c": TargetQueue("c", size), "d": TargetQueue("d", 4)}


def in_order(waiting: Sequence[Ticket]) -> list[Ticket]:
    return sorted(waiting, key=lambda t: (-t.priority, t.arrived, t.run))


@given(wishes, uses, st.integers(1, 8), st.integers(0, 4))
def test_admission_never_exceeds_capacity_and_gives_reasons(
    wanted: list[Wish], running: list[Use], size: int, there: int
) -> None:
    waiting, holding, targets = made(wanted), busy_with(running), both(size)
    by_run = {t.run: t for t in waiting}
    started, waits = admit(waiting, holding, targets, NOW, there)
    assert sorted([*started, *(w.run for w in waits)]) == sorted(by_run)
    assert all(w.reason for w in waits)
    began = [by_run[run] for run in started]
    gpus_used = sum(h.gpus for h in holding) + sum(t.gpus for t in began if t.gpus <= there)
    assert gpus_used <= there or not any(0 < t.gpus <= there for t in began)
    free_gpus = there - gpus_used
    for name, target in targets.items():
        begun = sum(t.nodes for t in began if t.queue == name)
        busy = begun + sum(h.nodes for h in holding if h.queue == name)
        assert not begun or busy <= target.max_nodes
        left = [by_run[w.run] for w in waits if by_run[w.run].queue == name]
        assert left == [t for t in in_order(waiting) if t in left]
        assert [w.position for w in waits if by_run[w.run] in left] == list(range(1, len(left) + 1))
    possible = [t for t in in_order(waiting) if t.run not in started and t.nodes <= targets[t.queue].max_nodes]
    if possible:  # the first of all waiting runs lacks something
        first = possible[0]
        busy = sum(h.nodes for h in holding if h.queue == first.queue)
        busy += sum(t.nodes for t in began if t.queue == first.queue)
        assert first.nodes > targets[first.queue].max_nodes - busy or free_gpus < first.gpus <= there


@given(wishes, uses, st.integers(1, 8), st.integers(0, 4))
def test_no_run_is_delayed_by_a_later_one(wanted: list[Wish], running: list[Use], size: int, there: int) -> None:
    """Remove the last of the queue: all the others start, or are promised, exactly the same as before."""
    waiting = in_order(made(wanted))
    if not waiting:
        return
    with_all, without_last = (
        admit(part, busy_with(running), both(size), NOW, there) for part in (waiting, waiting[:-1])
    )
    last = waiting[-1].run
    assert [run for run in with_all[0] if run != last] == without_last[0]
    assert [(w.run, w.promised) for w in with_all[1] if w.run != last] == [(w.run, w.promised) for w in without_last[1]]


@given(wishes, uses, st.integers(1, 8), st.integers(0, 4))
def test_equal_runs_start_in_order_of_arrival(wanted: list[Wish], running: list[Use], size: int, there: int) -> None:
    waiting = made(wanted)
    started, _ = admit(waiting, busy_with(running), both(size), NOW, there)
    kinds: dict[tuple[object, ...], list[bool]] = {}
    for t in in_order(waiting):
        kinds.setdefault((t.queue, t.nodes, t.priority, t.seconds, t.gpus), []).append(t.run in started)
    assert all(begun == sorted(begun, reverse=True) for begun in kinds.values())


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.integers(1, 300), st.integers(0, 3), lines, st.integers(0, 200)), max_size=8
    ),
    st.data(),
)
def test_the_first_run_starts_no_later_than_promised(
    wanted: list[tuple[int, int, int, str, int]], data: st.DataObject
) -> None:
    """A day of a cluster: runs arrive, end at any time within their limits, and start no later than promised."""
    arrivals = [
        Ticket(f"r{i:02}", at, n, 0, NOW + came, float(limit), gpus)
        for i, (n, limit, gpus, at, came) in enumerate(wanted)
    ]
    waiting: list[Ticket] = []
    running: dict[str, tuple[Ticket, float, float]] = {}  # its start, and the end of its last upload
    promises: dict[str, float] = {}
    moments = sorted({t.arrived for t in arrivals})
    while moments:
        now = moments.pop(0)
        waiting += [t for t in arrivals if t.arrived == now]
        running = {run: each for run, each in running.items() if each[2] > now}
        holding = [
            Allocation(run, t.queue, t.nodes, began + (t.seconds or 0.0), t.gpus)
            for run, (t, began, _) in running.items()
        ]
        started, waits = admit(waiting, holding, both(4), now, 3)
        for t in [t for t in waiting if t.run in started]:
            assert now <= promises.get(t.run, now), "it was told that it would start by then"
            lasts = data.draw(st.integers(1, int(t.seconds or 0) + 59))
            running[t.run] = (t, now, now + lasts)
            moments = sorted({*moments, now + lasts})
        waiting = [t for t in waiting if t.run not in started]
        for wait in waits[:1]:
            assert wait.promised is not None
            promises[wait.run] = min(promises.get(wait.run, wait.promised), wait.promised)
    assert not waiting, "everybody had a turn"
