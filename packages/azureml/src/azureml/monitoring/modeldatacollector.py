from footplate.serving.worker.data_collector import ModelDataCollector

__all__ = ["ModelDataCollector"]
