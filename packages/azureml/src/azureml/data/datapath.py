from __future__ import annotations

from footplate.sdk.data_reference import DataPath, DataPathComputeBinding

__all__ = ["DataPath", "DataPathComputeBinding"]
