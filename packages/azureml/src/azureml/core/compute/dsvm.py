from __future__ import annotations

from footplate.sdk.compute.cloud import DsvmCompute

__all__ = ["DsvmCompute"]
