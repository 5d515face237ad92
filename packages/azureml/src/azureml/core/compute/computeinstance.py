from __future__ import annotations

from footplate.sdk.compute.instance import ComputeInstance

__all__ = ["ComputeInstance"]
