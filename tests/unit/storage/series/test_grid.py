"""Buckets and points of curves, compared with the values that they summarize."""

from __future__ import annotations

import math
from array import array

from hypothesis import given
from hypothesis import strategies as st

from footplate.storage.series.grid import Curve, bucket_width, by_x, extent, points, summarize

NUMBERS = st.lists(st.floats(width=32), min_size=1, max_size=400)


def curve_of(values: list[float]) -> Curve:
    return Curve(array("d", range(len(values))), array("d", values))


@given(NUMBERS, st.integers(1, 50))
def test_buckets_hold_exactly_the_extremes_of_their_values(values: list[float], pixels: int) -> None:
    curve = curve_of(values)
    low, high = 0.0, float(len(values) - 1)
    width = bucket_width([curve], low, high, pixels)
    if width is None:
        assert len(values) <= 2 * pixels or high <= low
        return
    buckets = summarize(curve, low, high, width)
    assert sum(buckets.count) == len(values)
    for index, start in enumerate(buckets.x):
        inside = [value for x, value in enumerate(values) if start <= x < start + width]
        finite = [value for value in inside if math.isfinite(value)]
        assert buckets.count[index] == len(inside)
        assert buckets.nan[index] == sum(value != value for value in inside)
        assert buckets.inf[index] == sum(math.isinf(value) for value in inside)
        assert buckets.min[index] == min(finite, default=None)
        assert buckets.max[index] == max(finite, default=None)
        assert (buckets.first[index], buckets.last[index]) == (finite[0], finite[-1]) if finite else (None, None)


def test_one_spike_in_a_million_points_is_seen() -> None:
    values = array("d", [1.0]) * 1_000_000
    values[700_123] = 50.0
    curve = Curve(array("d", range(1_000_000)), values, is_finite=True)
    width = bucket_width([curve], 0, 999_999, 800)
    assert width == 2048
    assert max(value for value in summarize(curve, 0, 999_999, width).max if value is not None) == 50.0


def test_later_points_do_not_move_earlier_buckets() -> None:
    shorter, longer = curve_of([float(i % 7) for i in range(1000)]), curve_of([float(i % 7) for i in range(1500)])
    before, after = summarize(shorter, 0, 999, 64), summarize(longer, 0, 1499, 64)
    assert after.x[: len(before.x)] == before.x
    assert after.max[: len(before.x) - 1] == before.max[:-1]


def test_a_zoom_has_the_points_and_one_neighbour_on_each_side() -> None:
    assert points(curve_of([5.0, 6.0, 7.0, 8.0, 9.0]), 1.5, 2.5) == ([1.0, 2.0, 3.0], [6.0, 7.0, 8.0])


def test_points_without_x_are_left_out_and_others_are_ordered() -> None:
    xs, values = by_x([2.0, math.nan, 1.0, 2.0], [20.0, 0.0, 10.0, 21.0])
    assert (list(xs), list(values)) == ([1.0, 2.0, 2.0], [10.0, 20.0, 21.0])


def test_no_points_have_no_extent() -> None:
    assert extent([curve_of([])]) is None
    assert bucket_width([], 0, 10, 100) is None
