from __future__ import annotations

from footplate.sdk.file_dataset import FileDataset
from footplate.sdk.output_dataset import OutputFileDatasetConfig

__all__ = ["FileDataset", "OutputFileDatasetConfig"]
