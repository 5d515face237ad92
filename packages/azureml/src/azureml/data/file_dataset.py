from footplate.sdk.data.file_dataset import FileDataset

__all__ = ["FileDataset"]
