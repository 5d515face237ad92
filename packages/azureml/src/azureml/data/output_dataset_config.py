from __future__ import annotations

from footplate.sdk.output_dataset import OutputFileDatasetConfig

__all__ = ["OutputFileDatasetConfig"]
