from __future__ import annotations

from footplate.sdk.data.base import AbstractDataset

__all__ = ["AbstractDataset"]
