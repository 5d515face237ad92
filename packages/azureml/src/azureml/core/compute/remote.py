from footplate.sdk.compute.cloud import RemoteCompute

__all__ = ["RemoteCompute"]
