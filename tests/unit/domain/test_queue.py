"""Who runs next."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footplate.domain.queue import Holding, Ticket, Wait, admit

NOW = 1000.0


def held(nodes: int) -> list[Holding]:
    """So many nodes are busy, and nobody knows for how long."""
    return [Holding("old", nodes)] if nodes else []


def line(*nodes: int, priority: int = 0) -> list[Ticket]:
    return [Ticket(f"r{i}", count, priority, float(i)) for i, count in enumerate(nodes)]


@pytest.mark.parametrize(
    ("waiting", "busy", "size", "started", "waits"),
    [
        ([], 0, 4, [], []),
        (line(1), 0, 1, ["r0"], []),
        (line(1, 1, 1), 0, 4, ["r0", "r1", "r2"], []),
        (line(1), 1, 1, [], [Wait("r0", 1, "1 of 1 node of 'c' is busy")]),
        (line(3), 2, 4, [], [Wait("r0", 1, "2 of 4 nodes of 'c' are busy, it needs 3")]),
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
            ["r1"],  # whenever the two that are busy end, there are still three for the first in line
            [
                Wait("r0", 1, "2 of 4 nodes of 'c' are busy, it needs 3"),
                Wait("r2", 2, "3 of 4 nodes of 'c' are busy, and 1 run waits before it"),
            ],
        ),
        (line(9, 1), 0, 4, ["r1"], [Wait("r0", 1, "it needs 9 nodes and 'c' has at most 4")]),
    ],
)
def test_admit(waiting: list[Ticket], busy: int, size: int, started: list[str], waits: list[Wait]) -> None:
    assert admit(waiting, held(busy), size, "c", NOW) == (started, waits)


def test_priority_comes_before_arrival() -> None:
    waiting = [Ticket("early", 1, 0, 1.0), Ticket("urgent", 1, 5, 2.0), Ticket("late", 1, 0, 3.0)]
    started, waits = admit(waiting, [], 1, "c", NOW)
    assert started == ["urgent"]
    assert [w.run for w in waits] == ["early", "late"]


class TestBackfilling:
    """Four nodes; three are busy for another 100 seconds. The first in line needs all four."""

    BUSY = (Holding("old", 3, NOW + 100),)
    LARGE = Ticket("large", 4, 0, 1.0, 500.0)

    def admit(self, *others: Ticket) -> tuple[list[str], list[Wait]]:
        return admit([self.LARGE, *others], self.BUSY, 4, "c", NOW)

    def test_a_short_run_goes_first_and_the_promise_stands(self) -> None:
        started, waits = self.admit(Ticket("short", 1, 0, 2.0, 30.0))
        assert started == ["short"]
        assert [(w.run, w.promised) for w in waits] == [("large", NOW + 100)]

    def test_one_that_may_take_longer_does_not(self) -> None:
        started, waits = self.admit(Ticket("long", 1, 0, 2.0, 3000.0), Ticket("endless", 1, 0, 3.0))
        assert started == []
        assert [w.run for w in waits] == ["large", "long", "endless"]
        assert waits[1].promised == NOW + 100 + 500 + 60

    def test_nodes_that_the_first_in_line_will_not_need_are_free_for_all(self) -> None:
        three = Ticket("three", 3, 0, 1.0, 500.0)
        started, _ = admit([three, Ticket("endless", 1, 0, 2.0)], self.BUSY, 4, "c", NOW)
        assert started == ["endless"]

    def test_nobody_starves_behind_runs_without_limits(self) -> None:
        busy = [Holding("old", 3)]
        started, waits = admit([self.LARGE, Ticket("endless", 1, 0, 2.0)], busy, 4, "c", NOW)
        assert (started, waits[0].promised) == ([], None)

    def test_a_run_beyond_its_limit_is_expected_to_end_soon(self) -> None:
        _, waits = admit([self.LARGE], [Holding("late", 1, NOW - 50)], 4, "c", NOW)
        assert waits[0].promised == NOW + 60


def test_a_line_of_thousands_is_looked_at_in_no_time() -> None:
    waiting = [Ticket(f"r{i:05}", 1 + i % 7, 0, float(i), 60.0 * (1 + i % 50)) for i in range(5000)]
    began = time.process_time()
    started, waits = admit(waiting, [Holding("old", 8, NOW + 5000)], 64, "c", NOW)
    assert time.process_time() - began < 1.0
    assert len(started) + len(waits) == 5000


seconds = st.none() | st.integers(1, 500).map(float)
tickets = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 2), seconds), max_size=12)
holdings = st.lists(st.tuples(st.integers(1, 3), st.none() | st.integers(-50, 500)), max_size=4)


def made(wanted: list[tuple[int, int, float | None]]) -> list[Ticket]:
    return [Ticket(f"r{i:02}", n, priority, float(i), limit) for i, (n, priority, limit) in enumerate(wanted)]


def busy_with(running: list[tuple[int, int | None]]) -> list[Holding]:
    return [Holding(f"h{i}", n, None if ends is None else NOW + ends) for i, (n, ends) in enumerate(running)]


@given(tickets, holdings, st.integers(1, 8))
def test_admission_is_never_too_much_and_tells_everybody_why(
    wanted: list[tuple[int, int, float | None]], running: list[tuple[int, int | None]], size: int
) -> None:
    waiting, holding = made(wanted), busy_with(running)
    by_run = {t.run: t for t in waiting}
    started, waits = admit(waiting, holding, size, "c", NOW)
    assert sorted([*started, *(w.run for w in waits)]) == sorted(by_run)
    busy = sum(h.nodes for h in holding)
    assert not started or busy + sum(by_run[r].nodes for r in started) <= size
    assert [w.position for w in waits] == list(range(1, len(waits) + 1))
    assert all(w.reason for w in waits)
    could_fit = [by_run[w.run] for w in waits if by_run[w.run].nodes <= size]
    if could_fit:
        assert could_fit[0].nodes > size - busy - sum(by_run[r].nodes for r in started)


@given(tickets, holdings, st.integers(1, 8))
def test_nobody_is_delayed_by_one_who_comes_after(
    wanted: list[tuple[int, int, float | None]], running: list[tuple[int, int | None]], size: int
) -> None:
    """Take the last of the line away: all the others start, or are promised, exactly what they were before."""
    line = sorted(made(wanted), key=lambda t: (-t.priority, t.arrived, t.run))
    if not line:
        return
    with_all, without_last = (admit(part, busy_with(running), size, "c", NOW) for part in (line, line[:-1]))
    last = line[-1].run
    assert [run for run in with_all[0] if run != last] == without_last[0]
    assert [(w.run, w.promised) for w in with_all[1] if w.run != last] == [(w.run, w.promised) for w in without_last[1]]
