"""Curves for a screen: points on one grid, or summaries of buckets when there are more points than pixels. Pure.

A bucket keeps first, min, max, last and counts, so that a line drawn through these looks exactly as if all its points
were drawn, and one spike in a million points is seen. The width of a bucket is a power of two and its edges are
multiples of the width: points that arrive later never move the buckets of earlier ones.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

POINTS_PER_PIXEL = 2
"""Up to so many points per pixel, the points themselves are returned."""


@dataclass(frozen=True)
class Curve:
    """One metric of one run, ordered by `xs`."""

    xs: Sequence[float]
    values: Sequence[float]
    is_finite: bool = False  # known to hold neither NaN nor infinity


@dataclass
class Buckets:
    """Summaries of points, as columns of one length. Extremes are of finite values, None where there is none."""

    x: list[float] = field(default_factory=list[float])
    first: list[float | None] = field(default_factory=list["float | None"])
    min: list[float | None] = field(default_factory=list["float | None"])
    max: list[float | None] = field(default_factory=list["float | None"])
    last: list[float | None] = field(default_factory=list["float | None"])
    count: list[int] = field(default_factory=list[int])
    nan: list[int] = field(default_factory=list[int])
    inf: list[int] = field(default_factory=list[int])

    def add(self, x: float, values: Sequence[float], is_finite: bool) -> None:
        finite = values if is_finite else [value for value in values if math.isfinite(value)]
        nan = 0 if is_finite else sum(value != value for value in values)
        self.x.append(x)
        self.first.append(finite[0] if finite else None)
        self.min.append(min(finite) if finite else None)
        self.max.append(max(finite) if finite else None)
        self.last.append(finite[-1] if finite else None)
        self.count.append(len(values))
        self.nan.append(nan)
        self.inf.append(len(values) - len(finite) - nan)


def by_x(xs: Sequence[float], values: Sequence[float]) -> tuple[Sequence[float], Sequence[float]]:
    """Return both ordered by x, points with equal x in the order logged; points without x (NaN) are left out."""
    order = sorted((i for i, x in enumerate(xs) if x == x), key=xs.__getitem__)
    return array("d", map(xs.__getitem__, order)), array("d", map(values.__getitem__, order))


def extent(curves: Sequence[Curve]) -> tuple[float, float] | None:
    """Return the smallest and the largest x of all curves; None without points."""
    ends = [(curve.xs[0], curve.xs[-1]) for curve in curves if len(curve.xs)]
    return (min(start for start, _ in ends), max(end for _, end in ends)) if ends else None


def bucket_width(curves: Sequence[Curve], low: float, high: float, pixels: int) -> float | None:
    """Return the width of buckets for this range; None if all points fit."""
    most = max((bisect_right(curve.xs, high) - bisect_left(curve.xs, low) for curve in curves), default=0)
    if most <= POINTS_PER_PIXEL * pixels or high <= low:
        return None
    return 2.0 ** math.ceil(math.log2((high - low) / pixels))


def summarize(curve: Curve, low: float, high: float, width: float) -> Buckets:
    """Summarize the points of a range in buckets; those at the edges are whole, also beyond the range."""
    buckets = Buckets()
    at = bisect_left(curve.xs, math.floor(low / width) * width)
    end = bisect_right(curve.xs, high)
    while at < end:
        number = math.floor(curve.xs[at] / width)
        following = bisect_left(curve.xs, (number + 1) * width, at)
        buckets.add(number * width, curve.values[at:following], curve.is_finite)
        at = following
    return buckets


def points(curve: Curve, low: float, high: float) -> tuple[list[float], list[float]]:
    """Return the points of a range, and one more on each side, so that lines leave the picture where they should."""
    start = max(0, bisect_left(curve.xs, low) - 1)
    end = bisect_right(curve.xs, high) + 1
    return list(curve.xs[start:end]), list(curve.values[start:end])
