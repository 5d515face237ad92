from footplate.sdk.compute.cloud import AdlaCompute

__all__ = ["AdlaCompute"]
