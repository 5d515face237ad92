"""Who runs next."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footplate.domain.queue import Ticket, Wait, admit


def line(*nodes: int, priority: int = 0) -> list[Ticket]:
    return [Ticket(f"r{i}", count, priority, float(i)) for i, count in enumerate(nodes)]


@pytest.mark.parametrize(
    ("waiting", "busy", "size", "started", "waits"),
    [
        ([], 0, 4, [], []),
        (line(1), 0, 1, ["r0"], []),
        (line(1, 1, 1), 0, 4, ["r0", "r1", "r2"], []),
        (line(1), 1, 1, [], [Wait("r0", 1, "1 of 1 node of 'c' is busy")]),
        (line(3), 2, 4, [], [Wait("r0", 1, "2 of 4 nodes of 'c' are busy, and it needs 3 nodes")]),
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
            [],
            [
                Wait("r0", 1, "2 of 4 nodes of 'c' are busy, and it needs 3 nodes"),
                Wait("r1", 2, "2 of 4 nodes of 'c' are busy, and 1 run waits before it"),
                Wait("r2", 3, "2 of 4 nodes of 'c' are busy, and 2 runs wait before it"),
            ],
        ),
        (line(9, 1), 0, 4, ["r1"], [Wait("r0", 1, "it needs 9 nodes and 'c' has at most 4")]),
    ],
)
def test_admit(waiting: list[Ticket], busy: int, size: int, started: list[str], waits: list[Wait]) -> None:
    assert admit(waiting, busy, size, "c") == (started, waits)


def test_priority_comes_before_arrival() -> None:
    waiting = [Ticket("early", 1, 0, 1.0), Ticket("urgent", 1, 5, 2.0), Ticket("late", 1, 0, 3.0)]
    started, waits = admit(waiting, 0, 1, "c")
    assert started == ["urgent"]
    assert [w.run for w in waits] == ["early", "late"]


@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(0, 2)), max_size=12),
    st.integers(0, 8),
    st.integers(1, 8),
)
def test_admission_is_fair_and_never_too_much(wanted: list[tuple[int, int]], busy: int, size: int) -> None:
    waiting = [Ticket(f"r{i:02}", nodes, priority, float(i)) for i, (nodes, priority) in enumerate(wanted)]
    by_run = {t.run: t for t in waiting}
    started, waits = admit(waiting, busy, size, "c")
    assert sorted([*started, *(w.run for w in waits)]) == sorted(by_run)
    assert not started or busy + sum(by_run[r].nodes for r in started) <= size
    assert [w.position for w in waits] == list(range(1, len(waits) + 1))
    assert all(w.reason for w in waits)
    # Nobody is overtaken by one that came later with the same or less urgency.
    could_fit = [by_run[w.run] for w in waits if by_run[w.run].nodes <= size]
    for run in started:
        first = by_run[run]
        assert all((-first.priority, first.arrived) < (-t.priority, t.arrived) for t in could_fit)
    if could_fit:
        assert could_fit[0].nodes > size - busy - sum(by_run[r].nodes for r in started)
