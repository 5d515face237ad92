from __future__ import annotations

from footplate.sdk.dataset_base import AbstractDataset

__all__ = ["AbstractDataset"]
