from footplate.sdk.compute.instance import ComputeInstance

__all__ = ["ComputeInstance"]
