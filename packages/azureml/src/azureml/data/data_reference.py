from __future__ import annotations

from footplate.sdk.data_reference import DataReference

__all__ = ["DataReference"]
