"""Nodes that stay idle for a while."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footplate.domain.scaling import Nodes, Sizes, Stay, count

CLUSTER = Sizes(min_nodes=0, max_nodes=4, idle_seconds=100.0)


@pytest.mark.parametrize(
    ("now", "nodes"),
    [
        (10.0, Nodes(0, 0, 0, 0, 0)),
        (60.0, Nodes(2, 2, 0, 0, 2, 20.0)),  # it ended at 50
        (149.9, Nodes(2, 2, 0, 0, 2, 20.0)),
        (150.0, Nodes(0, 0, 0, 0, 0, 150.0)),
    ],
)
def test_a_released_node_stays_for_the_idle_time(now: float, nodes: Nodes) -> None:
    past = [Stay(2, 20.0, 50.0)] if now >= 50.0 else []
    assert count(past, CLUSTER, now) == nodes


def test_min_nodes_always_exist() -> None:
    kept = Sizes(1, 4, 100.0)
    assert count([], kept, 0.0) == Nodes(1, 1, 0, 0, 1)
    assert count([Stay(2, 20.0, 50.0)], kept, 60.0).idle == 2
    assert count([Stay(2, 20.0, 50.0)], kept, 1000.0) == Nodes(1, 1, 0, 0, 1, 150.0)
    assert count([Stay(1, 20.0, running=1)], kept, 60.0) == Nodes(1, 1, 0, 1, 0)


def test_a_run_takes_existing_nodes_before_new_ones() -> None:
    before = Stay(2, 20.0, 50.0)
    assert count([before, Stay(1, 60.0, coming=1)], CLUSTER, 60.0) == Nodes(2, 2, 1, 0, 1, 20.0), "warm: there at once"
    assert count([before, Stay(3, 60.0, coming=3)], CLUSTER, 60.0) == Nodes(2, 3, 2, 0, 0, 60.0), "one has to come"
    assert count([before, Stay(3, 60.0, running=3)], CLUSTER, 70.0) == Nodes(3, 3, 0, 3, 0, 60.0)


def test_use_renews_the_idle_time() -> None:
    again = [Stay(2, 20.0, 50.0), Stay(1, 100.0, 140.0)]
    assert count(again, CLUSTER, 145.0).idle == 2
    assert count(again, CLUSTER, 160.0) == Nodes(1, 1, 0, 0, 1, 150.0)
    assert count(again, CLUSTER, 240.0) == Nodes(0, 0, 0, 0, 0, 240.0)


def test_new_limits_apply_at_once_and_spare_running_runs() -> None:
    past, now = [Stay(3, 20.0, 50.0)], 60.0
    assert count(past, Sizes(0, 2, 100.0), now).idle == 2
    assert count(past, Sizes(0, 4, 5.0), now).idle == 0
    assert count(past, Sizes(4, 4, 5.0), now).idle == 4
    shrunk = count([Stay(3, 20.0, running=3)], Sizes(0, 2, 100.0), now)
    assert (shrunk.current, shrunk.target, shrunk.running) == (3, 2, 3), "it is to become smaller, and waits for that"


times = st.integers(0, 60).map(float)
stays = st.lists(
    st.tuples(st.integers(1, 3), times, st.none() | st.integers(1, 30)).map(
        lambda t: Stay(t[0], t[1], None if t[2] is None else t[1] + t[2])
    ),
    max_size=8,
)


@given(stays, st.integers(0, 3), st.integers(1, 30).map(float))
def test_there_are_as_many_nodes_as_were_recently_busy_at_once(history: list[Stay], least: int, idle: float) -> None:
    """The rule of the module's docstring, checked moment by moment; older events do not matter."""
    now = 90.0
    found = count(history, Sizes(least, 1000, idle), now)
    moments = [now - idle + 0.25 + step / 2 for step in range(int(idle * 2))]
    busy = [
        sum(s.nodes for s in history if s.began <= moment and (s.ended is None or s.ended > moment))
        for moment in [*moments, now]
    ]
    assert found.current == found.target == max(least, *busy)
    assert found.idle == found.current - busy[-1]
    recent = [stay for stay in history if stay.ended is None or stay.ended > now - idle]
    assert count(recent, Sizes(least, 1000, idle), now).idle == found.idle
