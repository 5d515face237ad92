from azureml.core.image.container import ContainerImage
from azureml.core.image.image import Image

__all__ = ["ContainerImage", "Image"]
