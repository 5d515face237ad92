from __future__ import annotations

from footplate.sdk.dataset import Dataset

__all__ = ["Dataset"]
