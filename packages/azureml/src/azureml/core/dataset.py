from footplate.sdk.data.dataset import Dataset

__all__ = ["Dataset"]
