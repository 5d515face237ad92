from __future__ import annotations

from footplate.sdk.compute.cloud import AdlaCompute

__all__ = ["AdlaCompute"]
