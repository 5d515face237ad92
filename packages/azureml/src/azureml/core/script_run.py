from __future__ import annotations

from footplate.sdk.runs.script_run import ScriptRun

__all__ = ["ScriptRun"]
