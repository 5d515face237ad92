from __future__ import annotations

from footplate.sdk.compute.cloud import SynapseCompute

__all__ = ["SynapseCompute"]
