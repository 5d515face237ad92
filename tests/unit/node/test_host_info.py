"""Threads of the agent that leave the cores to the ranks."""

from __future__ import annotations

import pytest

from footplate.node.sampler import _pause


@pytest.mark.parametrize(("elapsed", "pause"), [(0.0, 1.0), (10.0, 1.0), (30.0, 3.0), (50.0, 5.0), (86_400.0, 5.0)])
def test_samples_grow_further_apart(elapsed: float, pause: float) -> None:
    assert _pause(elapsed) == pause
