from footplate.sdk.models.image import Image

__all__ = ["Image"]
