from footplate.sdk.compute.cloud import AksCompute

__all__ = ["AksCompute"]
