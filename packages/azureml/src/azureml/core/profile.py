from __future__ import annotations

from footplate.sdk.models.profiling import ModelProfile

__all__ = ["ModelProfile"]
