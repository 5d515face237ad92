from footplate.sdk.sweep_run import HyperDriveRun
from footplate.sdk.tuning.config import PrimaryMetricGoal

__all__ = ["HyperDriveRun", "PrimaryMetricGoal"]
