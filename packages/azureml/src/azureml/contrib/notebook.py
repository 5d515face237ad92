from footplate.sdk.config.notebook_run_config import NotebookRunConfig

__all__ = ["NotebookRunConfig"]
