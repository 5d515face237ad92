from footplate.sdk.compute.cloud import KubernetesCompute

__all__ = ["KubernetesCompute"]
