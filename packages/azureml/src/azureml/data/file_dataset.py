from __future__ import annotations

from footplate.sdk.file_dataset import FileDataset

__all__ = ["FileDataset"]
