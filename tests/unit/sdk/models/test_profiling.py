"""Figures of a profile."""

from __future__ import annotations

from footplate.sdk.models.profiling import latency_figures, recommendation


def test_percentiles_are_values_that_were_measured() -> None:
    figures = latency_figures([n / 1000 for n in range(1, 101)])
    assert figures["latencyPercentile50InMs"] == 50
    assert figures["latencyPercentile99InMs"] == 99
    assert figures["latencyPercentile999InMs"] == 100
    assert round(figures["averageLatencyInMs"], 6) == 50.5


def test_a_quarter_more_than_was_used_is_recommended() -> None:
    found = recommendation(0.5, 1.0)
    assert (found["recommendedCpu"], found["recommendedMemoryInGB"]) == (0.7, 1.3)
    assert (found["maxUtilizedCpu"], found["maxUtilizedMemoryInGB"]) == (0.5, 1.0)
