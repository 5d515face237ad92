from __future__ import annotations

from footplate.sdk.compute import AmlCompute, ComputeTarget

__all__ = ["AmlCompute", "ComputeTarget"]
