from footplate.sdk.compute.cloud import BatchCompute

__all__ = ["BatchCompute"]
