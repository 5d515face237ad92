"""Smoothing: exact on simple curves, indifferent to values that are not finite, and to spikes that have passed."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from footplate.storage.series.smoothing import exponential, moving


def test_an_exponential_average_follows_its_definition() -> None:
    dice = random.Random(2)
    values = [dice.uniform(-5, 5) for _ in range(200)]
    for at, smoothed in enumerate(exponential(values, 0.9)):
        weights = [0.9 ** (at - before) for before in range(at + 1)]
        expected = sum(w * v for w, v in zip(weights, values, strict=False)) / sum(weights)
        assert smoothed == pytest.approx(expected)


def test_a_moving_average_is_the_mean_of_the_last_points() -> None:
    dice = random.Random(3)
    values = [dice.uniform(-5, 5) for _ in range(500)]
    for at, smoothed in enumerate(moving(values, 7)):
        part = values[max(0, at - 6) : at + 1]
        assert smoothed == pytest.approx(sum(part) / len(part))


@pytest.mark.parametrize("smooth", [lambda values: exponential(values, 0.5), lambda values: moving(values, 2)])
def test_values_that_are_not_finite_stay(smooth: Callable[[list[float]], list[float]]) -> None:
    values = [1.0, math.nan, 1.0, math.inf, -math.inf, 1.0]
    smoothed = list(smooth(values))
    assert math.isnan(smoothed[1])
    assert smoothed[:1] + smoothed[2:] == [1.0, 1.0, math.inf, -math.inf, 1.0]


def test_a_spike_leaves_no_error_behind() -> None:
    assert moving([0.1] * 10 + [1e18] + [0.1] * 50, 10)[-1] == pytest.approx(0.1)


def test_a_constant_curve_stays_constant() -> None:
    assert exponential([3.0] * 100, 0.99)[50] == pytest.approx(3.0)
    assert list(moving([], 5)) == []
