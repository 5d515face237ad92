from __future__ import annotations

from footplate.sdk.conda_dependencies import CondaDependencies

__all__ = ["CondaDependencies"]
