from footplate.sdk.compute.cloud import DataFactoryCompute

__all__ = ["DataFactoryCompute"]
