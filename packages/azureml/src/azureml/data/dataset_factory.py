from __future__ import annotations

from footplate.sdk.dataset import FileDatasetFactory

__all__ = ["FileDatasetFactory"]
