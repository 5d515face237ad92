from footplate.sdk.compute.cloud import DatabricksCompute

__all__ = ["DatabricksCompute"]
