from __future__ import annotations

from typing import Any

from footplate.storage.series.attempts import extent, join, nearest


def curve(*steps: float | None, value: float) -> list[Any]:
    return [[float(at), step, value] for at, step in enumerate(steps)]


def shown(points: list[Any]) -> list[tuple[Any, Any]]:
    return [(step, value) for _, step, value in points]


def test_a_later_attempt_replaces_the_steps_from_its_first_one_on() -> None:
    points, starts = join({1: curve(0, 1, 2, 3, value=1), 2: curve(2, 3, 4, value=2)})
    assert shown(points) == [(0, 1), (1, 1), (2, 2), (3, 2), (4, 2)]
    assert starts == [(2, 2)]


def test_points_without_a_step_are_appended() -> None:
    points, starts = join({2: curve(None, None, value=2), 1: curve(None, value=1)})
    assert shown(points) == [(None, 1), (None, 2), (None, 2)]
    assert starts == [(2, 1)]


def test_an_attempt_whose_points_were_all_repeated_disappears() -> None:
    points, starts = join({1: curve(0, 1, 2, value=1), 2: curve(2, 3, value=2), 3: curve(1, 2, value=3)})
    assert shown(points) == [(0, 1), (1, 3), (2, 3)]
    assert starts == [(3, 1)]
    points, starts = join({1: curve(0, 1, value=1), 2: curve(1, 2, 3, value=2), 3: curve(3, value=3)})
    assert shown(points) == [(0, 1), (1, 2), (2, 2), (3, 3)]
    assert starts == [(2, 1), (3, 3)]


def test_one_attempt_stays_as_it_is() -> None:
    points = curve(0, 1, 0, value=1)
    assert join({1: points}) == (points, [])
    assert join({}) == ([], [])


def test_the_extent_counts_what_is_shown() -> None:
    points = [[0.0, 0, 5.0], [1.0, 1, float("nan")], [2.0, 2, -1]]
    assert extent(points, "scalar") == {"count": 3, "min": -1.0, "max": 5.0}
    assert extent(points, "table") == {"count": 3, "min": None, "max": None}


def test_a_step_or_a_delay_finds_the_nearest_point() -> None:
    points = [[10.0, 0, 1], [11.0, 5, 1], [13.0, 5, 2], [20.0, 9, 1]]
    assert nearest(points, 6, None) == (13.0, 5)  # the last of several points of a step
    assert nearest(points, None, 2.5) == (13.0, 5)
    assert nearest(points, 1e9, None) == (20.0, 9)
    assert nearest([], 0, None) is None


def test_points_without_a_step_are_found_by_their_count() -> None:
    assert nearest(curve(None, None, None, value=1), 2, None) == (2.0, None)
