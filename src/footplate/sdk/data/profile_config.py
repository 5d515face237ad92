"""The configuration that `dataset.submit_profile_run` submits to an experiment."""

from __future__ import annotations

from typing import Any, NamedTuple

INPUT = "profiled"
RESULT = "outputs/profile.json"


class ProfileConfig(NamedTuple):
    """A table whose profile a run computes on a compute target."""

    table: Any
    compute_target: Any
