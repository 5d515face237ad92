"""Data of web services."""

from azureml.monitoring.modeldatacollector import ModelDataCollector

__all__ = ["ModelDataCollector"]
