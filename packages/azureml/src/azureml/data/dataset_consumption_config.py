from __future__ import annotations

from footplate.sdk.dataset_consumption import DatasetConsumptionConfig

__all__ = ["DatasetConsumptionConfig"]
