from footplate.sdk.compute.cloud import DsvmCompute

__all__ = ["DsvmCompute"]
