from __future__ import annotations

from footplate.sdk.runs.run import ScriptRun

__all__ = ["ScriptRun"]
