from footplate.sdk.data.references import DataPath, DataPathComputeBinding

__all__ = ["DataPath", "DataPathComputeBinding"]
