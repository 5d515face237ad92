from __future__ import annotations

from footplate.sdk.environment_sections import ContainerRegistry

__all__ = ["ContainerRegistry"]
