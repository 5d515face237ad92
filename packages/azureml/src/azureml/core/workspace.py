from __future__ import annotations

from footplate.sdk.workspace import Workspace

__all__ = ["Workspace"]
