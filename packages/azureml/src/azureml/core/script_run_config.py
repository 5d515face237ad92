from footplate.sdk.config.script_run_config import ScriptRunConfig, get_run_config_from_script_run

__all__ = ["ScriptRunConfig", "get_run_config_from_script_run"]
