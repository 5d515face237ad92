from footplate.sdk.data.consumption import DatasetConsumptionConfig

__all__ = ["DatasetConsumptionConfig"]
