"""Exceptions of `azureml.train.hyperdrive`."""

from __future__ import annotations

from footplate.sdk.exceptions import AzureMLException


class HyperDriveException(AzureMLException):
    """The base of the exceptions of sweeps.

    Example:
        try:
            uniform(1, 0)
        except HyperDriveException as error:
            print(error.message)
    """


class HyperDriveConfigException(HyperDriveException):
    """A search space, policy or sweep with a value that is not valid.

    Example:
        try:
            choice()
        except HyperDriveConfigException as error:
            print(error.message, error.hint)
    """


class HyperDriveNotImplementedException(HyperDriveException):
    """A method of `Run` that a sweep does not have.

    Example:
        def end(sweep: HyperDriveRun) -> None:
            try:
                sweep.fail()
            except HyperDriveNotImplementedException:
                sweep.cancel()
    """


class HyperDriveScenarioNotSupportedException(HyperDriveException):
    """A combination that Azure does not support. Footplate supports more, and never raises it.

    Example:
        print(issubclass(HyperDriveScenarioNotSupportedException, HyperDriveException))
    """
