from footplate.sdk.models.image import ContainerImage

__all__ = ["ContainerImage"]
