from __future__ import annotations

import pytest

from footplate.sdk.values.warn import warn_caller


def test_a_warning_points_at_the_first_line_outside_of_the_sdk():
    inside = {"__name__": "footplate.sdk.example", "warn_caller": warn_caller}
    exec("def submit():\n    warn_caller('left out')\n", inside)
    with pytest.warns(UserWarning, match="left out") as seen:
        inside["submit"]()
    assert seen[0].filename == __file__
