from __future__ import annotations

from footplate.sdk.models.image import ContainerImage, Image

__all__ = ["ContainerImage", "Image"]
