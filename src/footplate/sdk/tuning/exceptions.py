"""Exceptions of `azureml.train.hyperdrive`."""

from __future__ import annotations

from footplate.sdk.exceptions import AzureMLException


class HyperDriveException(AzureMLException):
    """Base of the exceptions of sweeps."""


class HyperDriveConfigException(HyperDriveException):
    """A sweep that cannot be configured so."""


class HyperDriveNotImplementedException(HyperDriveException):
    """A method of `Run` that a sweep does not have."""


class HyperDriveScenarioNotSupportedException(HyperDriveException):
    """A combination that Azure does not support. Footplate supports more, and never raises it."""
