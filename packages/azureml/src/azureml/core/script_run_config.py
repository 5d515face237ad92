from __future__ import annotations

from footplate.sdk.config.script_run_config import ScriptRunConfig

__all__ = ["ScriptRunConfig"]
