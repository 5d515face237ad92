from footplate.sdk.environments.sections import ContainerRegistry

__all__ = ["ContainerRegistry"]
