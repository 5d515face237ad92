from __future__ import annotations

from footplate.sdk.tuning.config import PrimaryMetricGoal
from footplate.sdk.tuning.run import HyperDriveRun

__all__ = ["HyperDriveRun", "PrimaryMetricGoal"]
