"""One curve of several attempts: a later attempt replaces what it repeats. Pure.

A script that resumes at step 80, although step 100 had been logged, logs the steps from 80 on again. The first step of
an attempt tells where it resumed, so points of earlier attempts from there on are left out. Points without a step are
never left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from footplate.storage.series.summaries import comparable

Points = list[Any]
"""Points `[time, step, value]`."""


def join(by_attempt: Mapping[int, Points]) -> tuple[Points, list[tuple[int, int]]]:
    """Return the points of all attempts as one curve, and `(attempt, index)` of the first point of each later one."""
    parts: list[tuple[int, Points]] = []
    for attempt, points in sorted(by_attempt.items()):
        resumed = min((step for _, step, _ in points if step is not None), default=None) if parts else None
        if resumed is not None:
            parts = [(number, _before(resumed, earlier)) for number, earlier in parts]
        parts.append((attempt, points))
    if len(parts) == 1:
        return parts[0][1], []
    curve: Points = []
    starts: list[tuple[int, int]] = []
    for attempt, points in parts:
        if curve and points:
            starts.append((attempt, len(curve)))
        curve += points
    return curve, starts


def _before(step: float, points: Points) -> Points:
    return [point for point in points if point[1] is None or point[1] < step]


def extent(points: Points, kind: str) -> dict[str, Any]:
    """Return `count`, and `min` and `max` of the comparable numbers, as in the summary of a series."""
    numbers = comparable([value for _, _, value in points]) if kind == "scalar" else []
    return {"count": len(points), "min": min(numbers, default=None), "max": max(numbers, default=None)}


def nearest(points: Points, step: float | None, seconds: float | None) -> tuple[float, float | None] | None:
    """Return time and step of the point nearest to a step, or to so many seconds after the first point.

    Of several points of one step, it is the last. Points without a step count up, as on a chart.
    """
    if not points:
        return None
    if step is not None:
        places = [(i if at is None else at, time, at) for i, (time, at, _) in enumerate(points)]
        _, time, logged_step = min(reversed(places), key=lambda place: abs(place[0] - step))
        return time, logged_step
    begin = points[0][0]
    time, logged_step, _ = min(points, key=lambda point: abs(point[0] - begin - (seconds or 0.0)))
    return time, logged_step
