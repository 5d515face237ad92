from footplate.sdk.tuning.exceptions import (
    HyperDriveConfigException,
    HyperDriveException,
    HyperDriveNotImplementedException,
    HyperDriveScenarioNotSupportedException,
)

__all__ = [
    "HyperDriveConfigException",
    "HyperDriveException",
    "HyperDriveNotImplementedException",
    "HyperDriveScenarioNotSupportedException",
]
