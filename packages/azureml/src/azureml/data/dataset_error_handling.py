from footplate.sdk.exceptions import DatasetExecutionError, DatasetValidationError

__all__ = ["DatasetExecutionError", "DatasetValidationError"]
