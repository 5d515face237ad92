from footplate.sdk.data.tabular_dataset import TabularDataset

__all__ = ["TabularDataset"]
