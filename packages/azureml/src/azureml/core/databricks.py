from __future__ import annotations

from footplate.sdk.environment_sections import DatabricksSection

__all__ = ["DatabricksSection"]
