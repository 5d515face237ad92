from footplate.sdk.data.output_dataset import OutputFileDatasetConfig, OutputTabularDatasetConfig

__all__ = ["OutputFileDatasetConfig", "OutputTabularDatasetConfig"]
