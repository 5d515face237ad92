from footplate.sdk.run import ScriptRun

__all__ = ["ScriptRun"]
