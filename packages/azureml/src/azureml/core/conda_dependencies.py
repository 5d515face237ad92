from footplate.sdk.environments.conda_dependencies import CondaDependencies

__all__ = ["CondaDependencies"]
