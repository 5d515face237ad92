from footplate.sdk.data.column_types import DataType
from footplate.sdk.data.dataset import FileDatasetFactory
from footplate.sdk.data.tabular_factory import TabularDatasetFactory

__all__ = ["DataType", "FileDatasetFactory", "TabularDatasetFactory"]
