"""Data of web services."""

from __future__ import annotations

from azureml.monitoring.modeldatacollector import ModelDataCollector

__all__ = ["ModelDataCollector"]
