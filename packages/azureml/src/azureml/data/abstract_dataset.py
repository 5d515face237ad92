from footplate.sdk.data.base import AbstractDataset

__all__ = ["AbstractDataset"]
