from footplate.sdk.compute.local_target import AbstractComputeTarget, LocalTarget
from footplate.sdk.exceptions import ComputeTargetException

__all__ = ["AbstractComputeTarget", "ComputeTargetException", "LocalTarget"]
