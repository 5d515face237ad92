from __future__ import annotations

from footplate.sdk.data_type import DataType
from footplate.sdk.dataset import FileDatasetFactory
from footplate.sdk.tabular_factory import TabularDatasetFactory

__all__ = ["DataType", "FileDatasetFactory", "TabularDatasetFactory"]
