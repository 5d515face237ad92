from __future__ import annotations

from footplate.sdk.data_type import DataType
from footplate.sdk.file_dataset import FileDataset
from footplate.sdk.output_dataset import OutputFileDatasetConfig
from footplate.sdk.tabular_dataset import TabularDataset

__all__ = ["DataType", "FileDataset", "OutputFileDatasetConfig", "TabularDataset"]
