from __future__ import annotations

from footplate.sdk.data.consumption import DatasetConsumptionConfig

__all__ = ["DatasetConsumptionConfig"]
