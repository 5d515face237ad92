"""Smoothed curves, computed from all their points. Values that are not finite stay where they are. Pure."""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Sequence


def exponential(values: Sequence[float], weight: float) -> array[float]:
    """Return the exponential moving average as TensorBoard draws it: corrected for its start at zero."""
    smoothed = array("d")
    last, correction = 0.0, 1.0
    for value in values:
        if math.isfinite(value):
            last = last * weight + (1 - weight) * value
            correction *= weight
            smoothed.append(last / (1 - correction))
        else:
            smoothed.append(value)
    return smoothed


def moving(values: Sequence[float], window: int) -> array[float]:
    """Return the mean of the last `window` finite values at each of them."""
    smoothed = array("d")
    recent: deque[float] = deque(maxlen=window)
    total, additions = 0.0, 0
    for value in values:
        if not math.isfinite(value):
            smoothed.append(value)
            continue
        total += value - (recent[0] if len(recent) == window else 0.0)
        recent.append(value)
        additions += 1
        if additions % window == 0:  # rounding errors do not add up, and one spike does not stay
            total = math.fsum(recent)
        smoothed.append(total / len(recent))
    return smoothed
