from __future__ import annotations

from footplate.sdk.data.column_types import DataType
from footplate.sdk.data.file_dataset import FileDataset
from footplate.sdk.data.output_dataset import OutputFileDatasetConfig
from footplate.sdk.data.tabular_dataset import TabularDataset

__all__ = ["DataType", "FileDataset", "OutputFileDatasetConfig", "TabularDataset"]
