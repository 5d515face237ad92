from __future__ import annotations

from footplate.sdk.compute.cloud import RemoteCompute

__all__ = ["RemoteCompute"]
