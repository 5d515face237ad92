from __future__ import annotations

from footplate.sdk.run import ScriptRun

__all__ = ["ScriptRun"]
