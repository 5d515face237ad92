from footplate.sdk.sweep_run import HyperDriveRun
from footplate.sdk.tuning.config import HyperDriveConfig, HyperDriveRunConfig, PrimaryMetricGoal

__all__ = ["HyperDriveConfig", "HyperDriveRun", "HyperDriveRunConfig", "PrimaryMetricGoal"]
