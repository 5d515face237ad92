from __future__ import annotations

from footplate.sdk.compute import LocalTarget
from footplate.sdk.exceptions import ComputeTargetException

__all__ = ["ComputeTargetException", "LocalTarget"]
