from __future__ import annotations

from footplate.sdk.models.image import ContainerImage, ContainerImageConfig

__all__ = ["ContainerImage", "ContainerImageConfig"]
