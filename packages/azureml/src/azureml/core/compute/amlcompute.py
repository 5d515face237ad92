from __future__ import annotations

from footplate.sdk.compute.targets import AmlCompute

__all__ = ["AmlCompute"]
