from azureml.core import VERSION as __version__
from footplate.lazy import lazy_names
from footplate.sdk.data.column_types import DataType
from footplate.sdk.data.file_dataset import FileDataset
from footplate.sdk.data.output_dataset import OutputFileDatasetConfig
from footplate.sdk.data.tabular_dataset import TabularDataset

_MODULES = (
    "abstract_dataset",
    "abstract_datastore",
    "azure_data_lake_datastore",
    "azure_storage_datastore",
    "data_reference",
    "datapath",
    "dataset_consumption_config",
    "dataset_error_handling",
    "dataset_factory",
    "dataset_profile_run",
    "dataset_type_definitions",
    "file_dataset",
    "output_dataset_config",
    "tabular_dataset",
)
"""Submodules that scripts use as `azureml.data.datapath.…` without importing them."""

__all__ = ["DataType", "FileDataset", "OutputFileDatasetConfig", "TabularDataset", "__version__"]

__getattr__, __dir__ = lazy_names(__name__, {}, _MODULES)
