from __future__ import annotations

from footplate.sdk.compute.cloud import KubernetesCompute

__all__ = ["KubernetesCompute"]
