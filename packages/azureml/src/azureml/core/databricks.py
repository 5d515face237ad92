from __future__ import annotations

from footplate.sdk.environments.sections import DatabricksSection

__all__ = ["DatabricksSection"]
