from __future__ import annotations

from footplate.sdk.models.image import Image

__all__ = ["Image"]
