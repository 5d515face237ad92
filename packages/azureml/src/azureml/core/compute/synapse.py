from footplate.sdk.compute.cloud import SynapseCompute

__all__ = ["SynapseCompute"]
