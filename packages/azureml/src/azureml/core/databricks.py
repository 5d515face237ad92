from footplate.sdk.environments.sections import DatabricksSection

__all__ = ["DatabricksSection"]
