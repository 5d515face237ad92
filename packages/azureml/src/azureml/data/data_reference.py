from __future__ import annotations

from footplate.sdk.data.references import DataReference

__all__ = ["DataReference"]
