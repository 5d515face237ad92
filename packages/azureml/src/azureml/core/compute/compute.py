from footplate.sdk.compute.targets import ComputeTarget

__all__ = ["ComputeTarget"]
