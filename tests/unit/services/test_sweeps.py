"""Trials as people see them."""

from __future__ import annotations

import pytest

from footplate.domain.runs.controllers import Child
from footplate.domain.tuning.sweeps import Objective, SweepSpec
from footplate.services.sweeps import view_of
from footplate.tuning.sweep_notes import TrialNotes

SWEEP = SweepSpec({"x": ["choice", [1]]}, (Objective("m"),), 4)


@pytest.mark.parametrize("status, is_cut", [("Running", True), ("Canceled", True), ("Completed", False)])
def test_a_trial_that_ended_before_the_order_to_stop_was_not_stopped(status: str, is_cut: bool) -> None:
    trial = TrialNotes({"x": 1}, stopped="it is behind", paused_at=3)
    view = view_of(0, trial, Child("0", "s_0", status), SWEEP)
    assert (view.stopped, view.paused) == (("it is behind", 3) if is_cut else (None, 0))
