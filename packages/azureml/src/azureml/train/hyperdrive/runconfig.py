from __future__ import annotations

from footplate.sdk.tuning.config import HyperDriveConfig, HyperDriveRunConfig, PrimaryMetricGoal
from footplate.sdk.tuning.run import HyperDriveRun

__all__ = ["HyperDriveConfig", "HyperDriveRun", "HyperDriveRunConfig", "PrimaryMetricGoal"]
